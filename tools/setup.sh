# shellcheck shell=bash
# setup: what ./run, ./test and tests/long/run do before their own work. To be sourced by bash scripts.
#   need_packages SECTION...    Debian packages of tools/packages.txt; installs what is missing
#   build_preset NAME [TARGET]  configures (when needed) and builds a preset of CMakePresets.json
#   need_venv FILE              Python environment for a list of pins; sets VENV
# Says nothing where nothing is to be done, and speaks on standard error only: standard output belongs to the caller.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CACHE=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/plimsoll
# Debian's own Python, because Debian's NumPy is visible to no other.
PYTHON=/usr/bin/python3

# Objects are found again from a clone in another folder (the sanitizer builds carry debug information).
export CCACHE_BASEDIR=$ROOT CCACHE_NOHASHDIR=1

say() { printf '%s\n' "$*" >&2; }

# quietly LABEL COMMAND...: silent when done within a second; else says what takes long, with the last step shown on a
# terminal, and how long it took. Where the command fails, all it wrote is shown. Returns what the command returns.
quietly() {
  local label=$1 log pid began=$SECONDS result=0 shown=0 step
  shift
  log=$(mktemp)
  "$@" >"$log" 2>&1 </dev/null &
  pid=$!
  # A command in the background does not get the terminal's interrupt in every shell: pass it on, and leave no log.
  trap 'kill "$pid" 2>/dev/null; rm -f "$log"; exit 130' INT TERM
  local ticks=0
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.05
    ticks=$((ticks + 1))
    if ((ticks == 20)); then
      shown=1
      if [[ -t 2 ]]; then printf '%s ...' "$label" >&2; else say "$label ..."; fi
    elif ((ticks % 20 == 0)) && [[ -t 2 ]]; then
      step=$(tail -n 1 "$log" | tr -d '\r' | cut -c "1-$((${COLUMNS:-100} - ${#label} - 20))")
      printf '\r\033[K%s (%d s) %s' "$label" "$((SECONDS - began))" "$step" >&2
    fi
  done
  wait "$pid" || result=$?
  trap - INT TERM
  [[ $shown == 1 && -t 2 ]] && printf '\r\033[K' >&2
  if ((result != 0)); then
    cat "$log" >&2
    say "$label: FAILED after $((SECONDS - began)) s"
  elif ((shown == 1)); then
    say "$label: $((SECONDS - began)) s"
  fi
  rm -f "$log"
  return "$result"
}

# The names in the given sections of tools/packages.txt, one a line.
packages_of() {
  local wanted=" $* " section='' line
  while read -r line; do
    case $line in
      '' | '#'*) ;;
      '['*']') section=${line:1:-1} ;;
      *) if [[ $wanted == *" $section "* ]]; then printf '%s\n' "${line%%[[:space:]]*}"; fi ;;
    esac
  done <"$ROOT/tools/packages.txt"
}

apt_install() {
  local apt=(apt-get -y -o DPkg::Lock::Timeout=300)
  export DEBIAN_FRONTEND=noninteractive
  # The package lists are fetched only when the install cannot do without: absent on a new machine, stale on an old one.
  "${apt[@]}" install --no-install-recommends "$@" && return 0
  # One source of many that does not answer is no reason to stop: the install decides.
  "${apt[@]}" update || true
  "${apt[@]}" install --no-install-recommends "$@"
}

need_packages() {
  local wanted missing=() name command
  mapfile -t wanted < <(packages_of "$@")
  if ! command -v dpkg-query >/dev/null; then
    say "plimsoll: this is not a Debian system; going on with what is there. Wanted, by Debian's names: ${wanted[*]}"
    return 0
  fi
  local -A present=()
  while read -r name; do present[$name]=1; done < <(
    dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null | sed -n 's/ installed$//p')
  for name in "${wanted[@]}"; do
    [[ -n ${present[$name]:-} ]] || missing+=("$name")
  done
  ((${#missing[@]} > 0)) || return 0
  if ((EUID != 0)); then
    command="apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
    say "plimsoll: packages are missing, and only root can install them. Run this, then try again:"
    if command -v sudo >/dev/null; then say "  sudo sh -c '$command'"; else say "  su -c '$command'"; fi
    exit 2
  fi
  quietly "installing ${missing[*]}" apt_install "${missing[@]}" || {
    say "plimsoll: apt-get could not install the packages above; are Debian's package sources reachable?"
    exit 2
  }
}

build_folder() { if [[ $1 == release ]]; then printf '%s/build' "$ROOT"; else printf '%s/build-%s' "$ROOT" "$1"; fi; }

# ninja watches CMakeLists.txt itself; a new preset or a tree that was moved it does not see.
configure() {
  local preset=$1 folder fresh=()
  folder=$(build_folder "$preset")
  if [[ -f $folder/build.ninja && $folder/build.ninja -nt $ROOT/CMakePresets.json ]] &&
    grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$ROOT" "$folder/CMakeCache.txt"; then
    return 0
  fi
  [[ -f $folder/CMakeCache.txt ]] && fresh=(--fresh)
  (cd "$ROOT" && quietly "configuring $preset" cmake --preset "$preset" "${fresh[@]}")
}

build_preset() {
  local preset=$1 target=${2:-all}
  configure "$preset" || return
  quietly "building $preset" cmake --build "$(build_folder "$preset")" --parallel "$(nproc)" --target "$target"
}

make_venv() {
  local file=$1 folder=$2
  rm -rf "$folder"
  "$PYTHON" -m venv "$folder" &&
    "$folder/bin/python" -m pip install --no-deps --no-cache-dir --disable-pip-version-check --no-input -r "$file" &&
    touch "$folder/complete"
}

# The list is complete, so dependencies are not followed. An environment belongs to one list: other pins, other folder.
need_venv() {
  local file=$1 pins
  pins=$({ "$PYTHON" --version && grep -vE '^[[:space:]]*(#|$)' "$file"; } | sha256sum | cut -c1-12)
  VENV=$CACHE/venv-$pins
  [[ -f $VENV/complete ]] && return 0
  mkdir -p "$CACHE"
  (
    flock 9
    [[ -f $VENV/complete ]] || quietly "installing the Python packages of ${file#"$ROOT"/} to $VENV" make_venv "$file" "$VENV"
  ) 9>"$VENV.lock"
}
