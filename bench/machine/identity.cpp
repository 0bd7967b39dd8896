// SPDX-License-Identifier: Apache-2.0
#include "bench/machine/identity.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/machine/digest.hpp"
#include "bench/machine/host_files.hpp"
#include "kernels/device.hpp"
#include "kernels/json/parse_json.hpp"

namespace scalebench {
namespace {

using nlohmann::json;

constexpr std::string_view kMark = "scalebench-where ";
constexpr std::array<std::string_view, 6> kLibraries{
    "libmpi.so", "libmpich.so", "libnccl.so", "libtorch_cpu.so", "libcudart.so", "libc10.so"};

/// The linker's build id among the notes of a loaded file; empty without one.
std::string build_id_of(const dl_phdr_info& loaded) {
  constexpr std::size_t kShown = 8;
  const auto padded = [](std::size_t size) { return (size + 3) / 4 * 4; };
  for (int i = 0; i < loaded.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = loaded.dlpi_phdr[i];
    if (part.p_type != PT_NOTE) continue;
    const auto* at = reinterpret_cast<const unsigned char*>(loaded.dlpi_addr + part.p_vaddr);
    const auto* const end = at + part.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note{};
      std::memcpy(&note, at, sizeof note);
      const unsigned char* const name = at + sizeof note;
      const unsigned char* const value = name + padded(note.n_namesz);
      const bool is_id =
          note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0;
      if (is_id) return hexadecimal({value, std::min<std::size_t>(note.n_descsz, kShown)});
      at = value + padded(note.n_descsz);
    }
  }
  return {};
}

int add_library(dl_phdr_info* loaded, std::size_t, void* found) {
  const std::string name = std::filesystem::path(loaded->dlpi_name).filename();
  for (const std::string_view library : kLibraries) {
    if (!name.starts_with(library)) continue;
    const std::string id = build_id_of(*loaded);
    (*static_cast<std::map<std::string, std::string>*>(found))[name] = id.empty() ? "?" : id;
  }
  return 0;
}

}  // namespace

Identity identity_here(const LinkedLibraries& libraries, std::string host, int gpus) {
  Identity identity;
  identity.host = std::move(host);
  identity.boot_id = boot_id();
  identity.cores = static_cast<int>(usable_cores().size());
  identity.gpus = gpus;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  identity.program = program.filename();
  identity.sha256 = sha256_of_file("/proc/self/exe");
  for (const auto& [name, version] : {std::pair("MPI", libraries.mpi), {"NCCL", libraries.nccl}}) {
    if (!version.empty()) identity.libraries[name] = version;
  }
  dl_iterate_phdr(add_library, &identity.libraries);
  const Facts facts = host_facts();
  if (const auto name = text_of(facts, "cpu_model")) identity.hardware["processor"] = *name;
  identity.hardware["cores"] = std::to_string(identity.cores);
  for (int i = 0; i < std::min(gpus, device_count()); ++i) {
    std::string& names = identity.hardware["GPUs"];
    names += (names.empty() ? "" : ", ") + device_name(i);
  }
  return identity;
}

std::string identity_line(const Identity& identity) {
  const json object{{"host", identity.host},           {"boot_id", identity.boot_id},
                    {"cores", identity.cores},         {"gpus", identity.gpus},
                    {"program", identity.program},     {"sha256", identity.sha256},
                    {"libraries", identity.libraries}, {"hardware", identity.hardware}};
  return fmt::format("{}{}\n", kMark, object.dump(-1, ' ', false, json::error_handler_t::replace));
}

std::vector<Identity> identities_in(std::string_view output) {
  std::vector<Identity> identities;
  std::istringstream lines{std::string(output)};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kMark)) continue;
    const json object = json_or_null(std::string_view(line).substr(kMark.size()));
    if (!object.is_object()) continue;
    try {
      identities.push_back({object.at("host"), object.at("boot_id"), object.at("cores"),
                            object.at("gpus"), object.at("program"), object.at("sha256"),
                            object.at("libraries"), object.at("hardware")});
    } catch (const json::exception&) {
      continue;  // of another version: as if it had not answered
    }
  }
  return identities;
}

}  // namespace scalebench
