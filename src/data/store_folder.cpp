#include "data/store_folder.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/digest.h"
#include "base/file.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDraft = ".partial-";

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Drafts of processes that were killed.
void RemoveLeftDrafts(const std::string& folder) {
  std::error_code error;
  const fs::path cache = fs::path(folder).parent_path();
  const std::string start = fs::path(folder).filename().string() + std::string(kDraft);
  for (const fs::directory_entry& entry : fs::directory_iterator(cache, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(start)) continue;
    int owner = 0;
    std::from_chars(name.data() + start.size(), name.data() + name.size(), owner);
    if (owner > 0 && ::kill(owner, 0) != 0 && errno == ESRCH) fs::remove_all(entry.path(), error);
  }
}

}  // namespace

Result<std::string> CacheFolder(const std::string& wanted) {
  std::string folder = wanted;
  if (folder.empty()) {
    const std::string cache = Variable("XDG_CACHE_HOME"), home = Variable("HOME");
    folder = !cache.empty()  ? cache + "/plimsoll"
             : !home.empty() ? home + "/.cache/plimsoll"
                             : fmt::format("/tmp/plimsoll-{}", ::getuid());
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !FolderExists(folder))
    return Status::CannotWrite(fmt::format("{}: cannot make the folder for data that were read: {}", folder, error.message()),
                               "set data.cache to a folder that you may write to");
  return folder;
}

std::string StoreFolder(const std::string& cache, const std::vector<std::string>& files, const std::string& settings) {
  Digest name;
  for (const std::string& file : files) {
    name.Add(file);
    name.Add("\n");
  }
  name.Add(settings);
  return fmt::format("{}/{:016x}", cache, name.value());
}

Result<std::optional<StoreFacts>> FindStore(const std::string& folder, const std::vector<std::string>& files,
                                            const std::string& settings) {
  Result<StoreFacts> facts = ReadFacts(folder);
  if (!facts.ok() || facts->settings != settings || facts->sources.size() != files.size()) return std::optional<StoreFacts>();
  bool told_anew = false;
  for (size_t i = 0; i < files.size(); ++i) {
    StoredSource& source = facts->sources[i];
    const Result<File> file = File::OpenRead(files[i]);
    if (!file.ok()) return file.status();
    const FileFacts now = file.value().Facts();
    if (source.path != files[i] || source.bytes != now.bytes) return std::optional<StoreFacts>();
    if (source.changed_ns == now.changed_ns) continue;
    Digest digest;
    PLIMSOLL_RETURN_IF_ERROR(digest.Add(file.value()));
    if (digest.value() != source.fingerprint) return std::optional<StoreFacts>();
    source.changed_ns = now.changed_ns;
    told_anew = true;
  }
  // Where that cannot be written the bytes are compared again next time.
  if (told_anew) (void)WriteTextFile(folder + kStoreFactsFile, FactsAsJson(*facts));
  return std::optional<StoreFacts>(std::move(facts).value());
}

Result<StoreDraft> StoreDraft::Create(const std::string& folder) {
  RemoveLeftDrafts(folder);
  for (int attempt = 0;; ++attempt) {
    std::string path = fmt::format("{}{}{}-{}", folder, kDraft, ::getpid(), attempt);
    const Status made = MakeFolder(path);
    if (made.ok()) return StoreDraft(folder, std::move(path));
    if (attempt == 100 || !FolderExists(path)) return made;
  }
}

StoreDraft::StoreDraft(StoreDraft&& other) noexcept
    : folder_(std::move(other.folder_)), path_(std::exchange(other.path_, std::string())) {}

StoreDraft::~StoreDraft() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

Status StoreDraft::Publish() {
  const std::string old = path_ + "-old";
  for (int attempt = 0; ::rename(path_.c_str(), folder_.c_str()) != 0; ++attempt) {
    if ((errno != ENOTEMPTY && errno != EEXIST) || attempt == 100) return WriteFailure(folder_, "rename it into place", errno);
    // Whoever has its files open goes on reading them.
    if (::rename(folder_.c_str(), old.c_str()) == 0) {
      std::error_code ignored;
      fs::remove_all(old, ignored);
    }
  }
  path_.clear();
  return Status::Ok();
}

}  // namespace plimsoll
