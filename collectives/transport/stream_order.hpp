// SPDX-License-Identifier: Apache-2.0
// Messages between devices whose hosts meet but wait for no device: the streams wait for each other
// by events. Knows nothing of CUDA, so that its order can be tested without.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/transport/shared_segment.hpp"

namespace scalebench {

// For every other rank a rank has two events that only it records and only that other one waits
// for: `ready`, the piece that it sends there may be read, and `taken`, the piece that came from
// there has been read. With the flags `posted` and `taken` of Rendezvous, each written after, and
// seen before, what stands beside it, the steps of a piece are
//
//   sender's host                        receiver's host
//   record ready, post
//                                        see the post, wait for ready, enqueue the reading,
//                                        record taken, say taken
//   see that, wait for taken
//
// A wait is for the state that an event has when the wait is enqueued; later records do not change
// it. CUDA says so of events of one process; that it also holds between processes is assumed here,
// and device_processes_test tries it. It finds the record of its own piece. Not an older
// one: the flag came after the record. Not a newer one: the next `ready` is recorded after the flag
// `taken`, which came after the wait for this one; and the next `taken` after the next post, which
// comes after the sender's wait for this one, since it waits before its next piece or, after the
// last one, before exchange_on_streams() returns. So no event is recorded again before its one wait
// is enqueued.
//
// Hence the receiver reads what the sender's stream wrote before, and the sender's stream
// overwrites nothing that is still being read, be it the caller's memory or a staging buffer. And
// since every wait is for work that some host enqueued earlier, no waits form a circle.

enum class Mark : std::uint8_t { ready, taken };

/// As Rendezvous::exchange(), but `offer` and `take` only enqueue, on one stream of this rank. So
/// do order.record(mark, rank), this rank's event for that one, and order.wait_for(mark, rank),
/// that rank's event for this one.
template <class Order>
void exchange_on_streams(Rendezvous& rendezvous, const Order& order, std::size_t out_bytes, int to,
                         const Rendezvous::Offer& offer, std::size_t in_bytes, int from,
                         const Rendezvous::Take& take) {
  const auto offer_ready = [&](std::size_t at) {
    if (at > 0) order.wait_for(Mark::taken, to);
    const Piece piece = offer(at);
    order.record(Mark::ready, to);
    return piece;
  };
  const auto take_ready = [&](const Piece& piece, std::size_t at) {
    order.wait_for(Mark::ready, from);
    take(piece, at);
    order.record(Mark::taken, from);
  };
  rendezvous.exchange(out_bytes, to, offer_ready, in_bytes, from, take_ready);
  if (out_bytes > 0) order.wait_for(Mark::taken, to);
}

}  // namespace scalebench
