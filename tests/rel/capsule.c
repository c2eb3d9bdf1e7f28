// capsule: runs a program inside a memory group of its own and says how that went.
//   in:    capsule --limit BYTES [--timeout SECONDS] [--group v2|v1|none] [--report FILE] -- PROGRAM ARGUMENTS...
//          Without --group: cgroup v2, else v1, else none (RLIMIT_DATA alone, which is less: "degraded").
//   out:   one line of JSON in FILE (else on standard error):
//            exit, signal      how the program ended; the other one is null
//            peak_bytes        the program's VmHWM, read every 2 ms; not ru_maxrss, which is inherited across exec;
//                              null where the program ended before the first look
//            kills             of the kernel in the group; null without a group
//            faults            minor page faults of the program
//            group_peak_bytes  with page cache and kernel memory, so no measure of the program; null where unknown
//            timed_out, group, degraded
//          Exit code: the program's, 128 + its signal, 128 + the signal that stopped the capsule, 2 for wrong usage,
//          125 for a failure of its own.
//   never: touches a group that it did not make, or leaves one behind (unless it is itself killed with SIGKILL).
// The group is made inside the caller's own, so the caller's limits go on to hold.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FAILED = 125, POLL_MS = 2, REMOVE_TRIES = 1000 };
enum kind { V2, V1, NONE };
static const char* const kKindNames[] = {"v2", "v1", "none"};

static struct {
  long long limit;
  double timeout;  // seconds; 0: none
  bool any_group;
  enum kind group;  // where not any_group
  const char* report;
  char** command;
} options = {.any_group = true};

static enum kind group = NONE;
static char group_folder[PATH_MAX];  // empty: not made
static pid_t child;                  // and its process group; 0: not started, or reaped

static void join(char out[PATH_MAX], const char* folder, const char* name) {
  if (snprintf(out, PATH_MAX, "%s/%s", folder, name) >= PATH_MAX) out[0] = '\0';  // opens nothing
}

// The beginning of a file as text; empty where it cannot be read.
static const char* contents(const char* folder, const char* name) {
  static char text[8192];
  char path[PATH_MAX];
  join(path, folder, name);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  text[got > 0 ? got : 0] = '\0';
  return text;
}

static bool put(const char* folder, const char* name, const char* text) {
  char path[PATH_MAX];
  join(path, folder, name);
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  const bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
  if (fd >= 0) close(fd);
  return done;
}

static bool present(const char* folder, const char* name) {
  char path[PATH_MAX];
  join(path, folder, name);
  return access(path, F_OK) == 0;
}

// The number behind a key in "key 123" lines (or "key:   123"), or, without a key, at the start; -1: not there.
static long long number(const char* text, const char* key) {
  const size_t length = strlen(key);
  while (text != NULL && *text != '\0') {
    if (strncmp(text, key, length) == 0) {
      char* end;
      const char* digits = text + length + (text[length] == ':');
      const long long value = strtoll(digits, &end, 10);
      if (end != digits) return value;
    }
    text = strchr(text, '\n');
    if (text != NULL) ++text;
  }
  return -1;
}

// True where a list of words, separated by any of ", \n", has this one.
static bool has_word(const char* list, const char* word) {
  const size_t length = strlen(word);
  for (; *list != '\0'; list += strspn(list, ", \n")) {
    const size_t here = strcspn(list, ", \n");
    if (here == length && strncmp(list, word, length) == 0) return true;
    list += here;
  }
  return false;
}

static void sleep_ms(long ms) { nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL); }

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void kill_child(void) {
  if (child > 0) kill(-child, SIGKILL);
}

// Ends whatever is still in the group, then the group.
static bool remove_group(void) {
  for (int attempt = 0; group_folder[0] != '\0' && attempt < REMOVE_TRIES; ++attempt) {
    if (rmdir(group_folder) == 0 || errno == ENOENT) {
      group_folder[0] = '\0';
    } else {
      const char* rest = contents(group_folder, "cgroup.procs");
      for (char* end; *rest != '\0'; rest = end + strspn(end, "\n")) {
        const long member = strtol(rest, &end, 10);
        if (end == rest) break;
        if (member > 0) kill((pid_t)member, SIGKILL);
      }
      sleep_ms(POLL_MS);
    }
  }
  return group_folder[0] == '\0';
}

__attribute__((format(printf, 2, 3), noreturn)) static void stop(int code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("capsule: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  if (child > 0) {
    kill_child();
    waitpid(child, NULL, 0);
  }
  if (!remove_group()) fprintf(stderr, "capsule: %s could not be removed\n", group_folder);
  exit(code);
}

#define USAGE "usage: capsule --limit BYTES [--timeout SECONDS] [--group v2|v1|none] [--report FILE] -- PROGRAM ARGUMENTS..."

static void read_options(int argc, char** argv) {
  int at = 1;
  for (; at < argc && strcmp(argv[at], "--") != 0; at += 2) {
    const char *name = argv[at], *value = at + 1 < argc ? argv[at + 1] : "";
    char* end = "";
    if (strcmp(name, "--limit") == 0) {
      options.limit = strtoll(value, &end, 10);
    } else if (strcmp(name, "--timeout") == 0) {
      options.timeout = strtod(value, &end);
      if (!(options.timeout > 0)) stop(2, "--timeout needs seconds above 0, not '%s'\n%s", value, USAGE);
    } else if (strcmp(name, "--report") == 0) {
      options.report = value;
    } else if (strcmp(name, "--group") == 0) {
      int kind = V2;
      while (kind <= NONE && strcmp(value, kKindNames[kind]) != 0) ++kind;
      if (kind > NONE) stop(2, "no group '%s'\n%s", value, USAGE);
      options.group = (enum kind)kind;
      options.any_group = false;
    } else {
      stop(2, "no option '%s'\n%s", name, USAGE);
    }
    if (value[0] == '\0' || *end != '\0') stop(2, "%s needs a value, not '%s'\n%s", name, value, USAGE);
  }
  if (options.limit <= 0) stop(2, "--limit needs bytes above 0\n%s", USAGE);
  if (at + 1 >= argc) stop(2, "no program\n%s", USAGE);
  options.command = argv + at + 1;
}

// Where the memory controller of this kind is mounted.
static bool find_mount(enum kind kind, char out[PATH_MAX]) {
  FILE* mounts = fopen("/proc/self/mounts", "re");
  char line[2 * PATH_MAX], type[64], flags[512], place[PATH_MAX];
  bool found = false;
  while (mounts != NULL && !found && fgets(line, sizeof line, mounts) != NULL) {
    if (sscanf(line, "%*s %4095s %63s %511s", place, type, flags) != 3) continue;
    found = kind == V2 ? strcmp(type, "cgroup2") == 0 : strcmp(type, "cgroup") == 0 && has_word(flags, "memory");
  }
  if (mounts != NULL) fclose(mounts);
  if (found) memcpy(out, place, PATH_MAX);
  return found;
}

// The group this process is in, below the mount. Where that folder is not to be seen, the mount itself is the
// container's own group.
static bool find_own_group(enum kind kind, char out[PATH_MAX]) {
  char mount[PATH_MAX], line[PATH_MAX];
  if (!find_mount(kind, mount)) return false;
  FILE* groups = fopen("/proc/self/cgroup", "re");
  bool found = false;
  while (groups != NULL && !found && fgets(line, sizeof line, groups) != NULL) {
    char* controllers = strchr(line, ':');
    char* path = controllers == NULL ? NULL : strchr(++controllers, ':');
    if (path == NULL) continue;
    *path++ = '\0';
    path[strcspn(path, "\n")] = '\0';
    found = kind == V2 ? *controllers == '\0' : has_word(controllers, "memory");
    if (found) join(out, mount, path + 1);
  }
  if (groups != NULL) fclose(groups);
  if (!found) return false;
  struct stat facts;
  if (stat(out, &facts) != 0) join(out, mount, "");
  // In v2 a group that holds processes cannot hand the controller down; the nearest one above that does is taken.
  while (kind == V2 && !has_word(contents(out, "cgroup.subtree_control"), "memory")) {
    char* slash = strrchr(out, '/');
    if (slash == NULL || strlen(out) <= strlen(mount)) return false;
    *slash = '\0';
  }
  return true;
}

// Makes the group with its limits; leaves nothing behind where that fails.
static bool make_group(enum kind kind) {
  char parent[PATH_MAX], name[64], bytes[32];
  if (!find_own_group(kind, parent)) return false;
  snprintf(name, sizeof name, "plimsoll-capsule-%ld", (long)getpid());
  snprintf(bytes, sizeof bytes, "%lld", options.limit);
  join(group_folder, parent, name);
  if (mkdir(group_folder, 0755) != 0) {
    group_folder[0] = '\0';
    return false;
  }
  const char* swap = kind == V2 ? "memory.swap.max" : "memory.memsw.limit_in_bytes";  // v1 counts memory and swap together
  if (put(group_folder, kind == V2 ? "memory.max" : "memory.limit_in_bytes", bytes) &&
      (!present(group_folder, swap) || put(group_folder, swap, kind == V2 ? "0" : bytes))) {
    group = kind;
    return true;
  }
  if (!remove_group()) stop(FAILED, "%s could not be removed", group_folder);
  return false;
}

static void choose_group(void) {
  for (int kind = V2; kind < NONE; ++kind) {
    if ((options.any_group || (int)options.group == kind) && make_group((enum kind)kind)) return;
  }
  if (!options.any_group && options.group != NONE)
    stop(FAILED, "no memory group of kind %s can be made", kKindNames[options.group]);
}

// In the child: joins the group and becomes the program. Comes back only when that failed.
static void become_program(pid_t parent, const sigset_t* signals) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(FAILED);  // the capsule is gone already
  setpgid(0, 0);
  if (group == NONE) {
    const struct rlimit limit = {(rlim_t)options.limit, (rlim_t)options.limit};
    if (setrlimit(RLIMIT_DATA, &limit) != 0) return;
  } else if (!put(group_folder, "cgroup.procs", "0")) {
    return;
  }
  sigprocmask(SIG_SETMASK, signals, NULL);
  execvp(options.command[0], options.command);
}

// Starts the program and returns when it has begun: the pipe closes at exec, or brings the reason why there was none.
static void start(const sigset_t* signals) {
  int ends[2], reason = 0;
  if (pipe2(ends, O_CLOEXEC) != 0) stop(FAILED, "pipe: %s", strerror(errno));
  const pid_t parent = getpid();
  child = fork();
  if (child < 0) stop(FAILED, "fork: %s", strerror(errno));
  if (child == 0) {
    become_program(parent, signals);
    reason = errno;
    _exit(write(ends[1], &reason, sizeof reason) == (ssize_t)sizeof reason ? FAILED : FAILED + 1);
  }
  setpgid(child, child);  // in both, so that no kill comes too early
  close(ends[1]);
  if (read(ends[0], &reason, sizeof reason) > 0) stop(FAILED, "%s: %s", options.command[0], strerror(reason));
  close(ends[0]);
}

struct outcome {
  int status;
  int stopped_by;  // a signal to the capsule; 0: none
  bool timed_out;
  long long peak_bytes;
  struct rusage usage;
};

static struct outcome watch(const sigset_t* waited) {
  struct outcome outcome = {0};
  char folder[32];
  snprintf(folder, sizeof folder, "/proc/%ld", (long)child);
  const double end = seconds_now() + options.timeout;
  for (;;) {
    const long long peak_kb = number(contents(folder, "status"), "VmHWM");
    if (peak_kb * 1024 > outcome.peak_bytes) outcome.peak_bytes = peak_kb * 1024;
    const int got = sigtimedwait(waited, NULL, &(struct timespec){.tv_nsec = POLL_MS * 1000000});
    if (got > 0 && got != SIGCHLD) {
      outcome.stopped_by = got;
      kill_child();
    }
    siginfo_t ended = {0};
    if (waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT) != 0) stop(FAILED, "wait: %s", strerror(errno));
    if (ended.si_pid == child) break;
    if (options.timeout > 0 && !outcome.timed_out && seconds_now() >= end) {
      outcome.timed_out = true;
      kill_child();
    }
  }
  kill_child();  // what the program left running; not yet reaped, its number is still its own
  if (wait4(child, &outcome.status, 0, &outcome.usage) != child) stop(FAILED, "wait: %s", strerror(errno));
  child = 0;
  return outcome;
}

static const char* or_null(char out[32], bool known, long long value) {
  snprintf(out, 32, "%lld", value);
  return known ? out : "null";
}

static void report(FILE* out, const struct outcome* outcome) {
  long long kills = -1, group_peak = -1;
  if (group == V2) {
    kills = number(contents(group_folder, "memory.events"), "oom_kill");
    group_peak = number(contents(group_folder, "memory.peak"), "");
  } else if (group == V1) {
    kills = number(contents(group_folder, "memory.oom_control"), "oom_kill");
    group_peak = number(contents(group_folder, "memory.max_usage_in_bytes"), "");
  }
  if (group != NONE && kills < 0) stop(FAILED, "the group does not count its kills");
  const bool exited = WIFEXITED(outcome->status);
  char texts[5][32];
  fprintf(out,
          "{\"exit\": %s, \"signal\": %s, \"peak_bytes\": %s, \"kills\": %s, \"faults\": %ld, \"group_peak_bytes\": %s, "
          "\"timed_out\": %s, \"group\": \"%s\", \"degraded\": %s}\n",
          or_null(texts[0], exited, WEXITSTATUS(outcome->status)), or_null(texts[1], !exited, WTERMSIG(outcome->status)),
          or_null(texts[4], outcome->peak_bytes > 0, outcome->peak_bytes), or_null(texts[2], kills >= 0, kills),
          outcome->usage.ru_minflt, or_null(texts[3], group_peak >= 0, group_peak), outcome->timed_out ? "true" : "false",
          kKindNames[group], group == NONE ? "true" : "false");
  if (fflush(out) != 0) stop(FAILED, "the report could not be written: %s", strerror(errno));
}

int main(int argc, char** argv) {
  read_options(argc, argv);
  FILE* out = options.report == NULL ? stderr : fopen(options.report, "we");
  if (out == NULL) stop(FAILED, "%s: %s", options.report, strerror(errno));
  // Signals wait until the loop in watch takes them, so none can end the capsule while its group is there.
  sigset_t waited, before;
  sigemptyset(&waited);
  for (size_t i = 0; i < 5; ++i) sigaddset(&waited, (const int[]){SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT}[i]);
  sigprocmask(SIG_BLOCK, &waited, &before);
  choose_group();
  start(&before);
  const struct outcome outcome = watch(&waited);
  report(out, &outcome);
  if (!remove_group()) stop(FAILED, "%s could not be removed", group_folder);
  if (outcome.stopped_by != 0) return 128 + outcome.stopped_by;
  return WIFEXITED(outcome.status) ? WEXITSTATUS(outcome.status) : 128 + WTERMSIG(outcome.status);
}
