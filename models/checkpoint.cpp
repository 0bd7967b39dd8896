// SPDX-License-Identifier: Apache-2.0
#include "models/checkpoint.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kMagic = "SCBCKPT1";
constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kDigestBytes = 32;

std::string sha256(std::string_view bytes) {
  std::string digest(kDigestBytes, '\0');
  auto* out = reinterpret_cast<unsigned char*>(digest.data());
  if (EVP_Digest(bytes.data(), bytes.size(), out, nullptr, EVP_sha256(), nullptr) != 1) {
    fail("SHA-256 is not available in this OpenSSL");
  }
  return digest;
}

std::string length_bytes(std::uint64_t length) {
  std::string bytes;
  for (unsigned shift = 0; shift < 64; shift += 8) {
    bytes += static_cast<char>(static_cast<unsigned char>(length >> shift));
  }
  return bytes;
}

std::uint64_t length_in(std::string_view bytes) {
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) {
    length = length << 8U | static_cast<unsigned char>(bytes[i]);
  }
  return length;
}

Json header_of(const Checkpoint& checkpoint) {
  Json training = Json::object();
  for (const auto& [name, value] : checkpoint.training) training[name] = value;
  Json tensors = Json::array();
  for (const StoredTensor& tensor : checkpoint.tensors) {
    tensors.push_back({{"name", tensor.name},
                       {"dtype", tensor.dtype},
                       {"shape", tensor.shape},
                       {"bytes", tensor.bytes.size()}});
  }
  return {{"epochs", checkpoint.progress.epochs},
          {"steps", checkpoint.progress.steps},
          {"seconds", checkpoint.progress.seconds},
          {"loss_scale", checkpoint.loss_scale},
          {"training", training},
          {"tensors", tensors}};
}

Checkpoint parsed(const Json& header, std::string_view data) {
  Checkpoint checkpoint;
  checkpoint.progress = {header.at("epochs"), header.at("steps"), header.at("seconds")};
  checkpoint.loss_scale = header.at("loss_scale");
  for (const auto& [name, value] : header.at("training").items()) {
    checkpoint.training.emplace_back(name, value);
  }
  for (const Json& entry : header.at("tensors")) {
    const std::size_t size = entry.at("bytes");
    if (size > data.size()) fail<UsageError>("its tensors are longer than the file");
    checkpoint.tensors.push_back({entry.at("name"), entry.at("dtype"),
                                  entry.at("shape").get<std::vector<std::int64_t>>(),
                                  std::string(data.substr(0, size))});
    data.remove_prefix(size);
  }
  return checkpoint;
}

}  // namespace

std::string bytes_of(const Checkpoint& checkpoint) {
  const std::string header = header_of(checkpoint).dump();
  std::string bytes = std::string(kMagic) + length_bytes(header.size()) + header;
  for (const StoredTensor& tensor : checkpoint.tensors) bytes += tensor.bytes;
  return bytes + sha256(bytes);
}

Checkpoint checkpoint_from(std::string_view bytes) {
  const std::size_t fixed = kMagic.size() + kLengthBytes + kDigestBytes;
  if (!bytes.starts_with(kMagic)) {
    fail<UsageError>("it does not begin with {}: no checkpoint of this version", kMagic);
  }
  if (bytes.size() < fixed) fail<UsageError>("it is truncated to {} bytes", bytes.size());
  const std::string_view content = bytes.substr(0, bytes.size() - kDigestBytes);
  if (sha256(content) != bytes.substr(content.size())) {
    fail<UsageError>("its checksum does not match its {} bytes: truncated or changed",
                     bytes.size());
  }
  const std::string_view rest = content.substr(kMagic.size() + kLengthBytes);
  const std::uint64_t length = length_in(content.substr(kMagic.size()));
  if (length > rest.size()) fail<UsageError>("its header is longer than the file");
  try {
    return parsed(Json::parse(rest.substr(0, length)), rest.substr(length));
  } catch (const nlohmann::json::exception& error) {
    fail<UsageError>("its header cannot be read: {}", error.what());
  }
}

std::string difference(const Checkpoint& checkpoint,
                       const std::vector<std::pair<std::string, std::string>>& training) {
  const std::map<std::string, std::string> there(checkpoint.training.begin(),
                                                 checkpoint.training.end());
  const std::map<std::string, std::string> here(training.begin(), training.end());
  const auto value = [](const std::map<std::string, std::string>& of, const std::string& name) {
    const auto found = of.find(name);
    return found == of.end() || found->second.empty() ? std::string("not given") : found->second;
  };
  std::string text;
  std::map<std::string, std::string> names = there;
  names.insert(here.begin(), here.end());
  for (const auto& [name, ignored] : names) {
    const std::string before = value(there, name);
    const std::string now = value(here, name);
    if (before == now) continue;
    text +=
        fmt::format("{}{} is {} there and {} here", text.empty() ? "" : ", ", name, before, now);
  }
  return text;
}

}  // namespace scalebench
