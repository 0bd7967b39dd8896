// SPDX-License-Identifier: Apache-2.0
#include "models/checkpoint_file.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "kernels/error.hpp"
#include "kernels/json/parse_json.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kMagic = "SCBCKPT2";
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

}  // namespace

std::string checkpoint_file(std::string_view header, std::string_view tensors) {
  std::string bytes(kMagic);
  bytes.append(length_bytes(header.size())).append(header).append(tensors);
  return bytes + sha256(bytes);
}

CheckpointParts checkpoint_parts(std::string_view bytes) {
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
  return {rest.substr(0, length), rest.substr(length)};
}

namespace {

using Json = nlohmann::ordered_json;

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
          {"loss_scale",
           {{"scale", checkpoint.loss_scale.scale},
            {"good_steps", checkpoint.loss_scale.good_steps},
            {"skipped", checkpoint.loss_scale.skipped}}},
          {"training", training},
          {"tensors", tensors}};
}

/// Throws for what is no whole number, or one that Number cannot hold.
template <class Number>
Number whole(const Json& object, const char* name) {
  const std::optional<Number> number = whole_number<Number>(object.at(name));
  if (!number) fail<UsageError>("its {} is no whole number, or too large", name);
  return *number;
}

Checkpoint parsed(const Json& header, std::string_view data) {
  Checkpoint checkpoint;
  checkpoint.progress = {whole<int>(header, "epochs"), whole<std::int64_t>(header, "steps"),
                         header.at("seconds")};
  const Json& scale = header.at("loss_scale");
  checkpoint.loss_scale = {scale.at("scale"), whole<std::int64_t>(scale, "good_steps"),
                           whole<std::int64_t>(scale, "skipped")};
  for (const auto& [name, value] : header.at("training").items()) {
    checkpoint.training.emplace_back(name, value);
  }
  for (const Json& entry : header.at("tensors")) {
    const auto size = whole<std::size_t>(entry, "bytes");
    if (size > data.size()) fail<UsageError>("its tensors are longer than the file");
    StoredTensor& tensor = checkpoint.tensors.emplace_back();
    entry.at("name").get_to(tensor.name);
    entry.at("dtype").get_to(tensor.dtype);
    const Json& shape = entry.at("shape");
    if (!shape.is_array()) fail<UsageError>("its tensor '{}' has no shape", tensor.name);
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const auto length = whole_number<std::int64_t>(shape[i]);
      if (!length) fail<UsageError>("its tensor '{}' has no shape", tensor.name);
      tensor.shape.push_back(*length);
    }
    tensor.bytes = data.substr(0, size);
    data.remove_prefix(size);
  }
  return checkpoint;
}

}  // namespace

std::string bytes_of(const Checkpoint& checkpoint) {
  std::string tensors;
  for (const StoredTensor& tensor : checkpoint.tensors) tensors += tensor.bytes;
  return checkpoint_file(header_of(checkpoint).dump(), tensors);
}

Checkpoint checkpoint_from(std::string_view bytes) {
  const CheckpointParts parts = checkpoint_parts(bytes);
  try {
    return parsed(parse_json<Json>(parts.header, "its header"), parts.tensors);
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
