#!/usr/bin/env bash
# Shows that the two commands need nothing but a base Debian 12 and its package registries: makes a new root folder with
# debootstrap, puts a clean clone of the committed tree into it, and runs commands there, as root, by chroot.
#   tools/fresh_root.sh                      ./run, then ./test
#   tools/fresh_root.sh COMMAND...           these instead, each a line for bash, in the clone: tools/fresh_root.sh './test all'
# How the registries are reached (apt and pip settings, proxies, certificates) is carried over from this machine.
# Needs root, debootstrap and git, and room in TMPDIR: about 2 GB, with the parity tests 12 GB.
# shellcheck disable=SC2317  # clean_up is called by the trap
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
release=bookworm

if ((EUID != 0)); then
  echo "fresh_root: debootstrap and chroot need root" >&2
  exit 2
fi
if ! command -v debootstrap >/dev/null; then
  echo "fresh_root: run this, then try again: apt-get install -y debootstrap" >&2
  exit 2
fi
# In a mount namespace of its own, so that no mount made here is seen, or left, outside.
if [[ -z ${PLIMSOLL_OWN_MOUNTS:-} ]]; then
  PLIMSOLL_OWN_MOUNTS=1 exec unshare --mount --propagation private "${BASH_SOURCE[0]}" "$@"
fi
(($# > 0)) || set -- ./run ./test

root=$(mktemp -d "${TMPDIR:-/tmp}/plimsoll-root.XXXXXX")
chmod 755 "$root"  # it becomes / of users other than root, too
mounts=()
clean_up() {
  local i
  rm -f "$root.log"
  for ((i = ${#mounts[@]} - 1; i >= 0; i--)); do umount -R "${mounts[i]}" || umount -l "${mounts[i]}"; done
  # Never into something that is still mounted.
  if grep -qF " $root/" /proc/self/mounts; then
    echo "fresh_root: something is still mounted under $root; left as it is" >&2
  else
    rm -rf --one-file-system "$root"
  fi
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# The mirror that this machine's own Debian comes from, in either form of source list; debootstrap's own where none is named.
mirror_of_host() {
  local file
  for file in /etc/apt/sources.list.d/*.sources /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [[ -f $file ]] || continue
    sed -nE -e 's#^URIs:[[:space:]]*([^[:space:]]*/debian)/?([[:space:]].*)?$#\1#p' \
      -e "s#^deb[[:space:]]+(\[[^]]*\][[:space:]]+)?([^[:space:]]*/debian)/?[[:space:]]+${release}[[:space:]].*#\2#p" "$file"
  done | head -n 1
}
mirror=$(mirror_of_host)

# debootstrap does not read apt's settings.
proxy=$(apt-config dump Acquire::http::Proxy | sed -n 's/^Acquire::http::Proxy "\(.*\)";$/\1/p')
if [[ -n $proxy && -z ${http_proxy:-} ]]; then export http_proxy=$proxy; fi

began=$SECONDS
echo "== debootstrap: $release, minbase, in $root"
debootstrap --variant=minbase "$release" "$root" ${mirror:+"$mirror"} >"$root.log" 2>&1 || {
  tail -n 30 "$root.log" >&2
  exit 1
}
echo "== debootstrap: $((SECONDS - began)) s"

mkdir -p "$root/srv"
git clone -q --no-hardlinks "$here" "$root/srv/plimsoll"
echo "== clone of $(git -C "$here" rev-parse --short HEAD); what is not committed is not in it"

# carry PATH...: the same file or folder in the new root, links followed.
carry() {
  local path
  for path in "$@"; do
    [[ -e $path ]] || continue
    mkdir -p "$root$(dirname "$path")"
    rm -rf "${root:?}$path"
    cp -rL "$path" "$root$path"
  done
}
carry /etc/resolv.conf /etc/hosts /etc/ssl/certs /usr/local/share/ca-certificates
carry /etc/pip.conf "${HOME:-/root}/.config/pip" "${HOME:-/root}/.pip"
apt-config dump | grep '^Acquire::' >"$root/etc/apt/apt.conf.d/90host" || true
# Of the source lists only Debian's own: the others are not part of a base Debian. debootstrap's stays where there is none.
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list; do
  if [[ -f $list ]] && grep -qE "^[^#]*\b$release\b.*" "$list" && grep -qE '^[^#]*/debian(-security)?/?([[:space:]]|$)' "$list"; then
    carry "$list"
  fi
done
if [[ ! -f /etc/apt/sources.list && -n $(compgen -G "$root/etc/apt/sources.list.d/*") ]]; then rm -f "$root/etc/apt/sources.list"; fi

mounted() { # mounted PLACE OPTION...
  local place=$root$1
  shift
  mount "$@" "$place"
  mounts+=("$place")
}
mounted /proc -t proc proc
mounted /sys --rbind /sys
mounted /dev --bind /dev
mounted /dev/pts -t devpts devpts
mounted /dev/shm -t tmpfs tmpfs

# A clean environment, but for what says how to reach the registries.
environment=(HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "TERM=${TERM:-dumb}")
while IFS='=' read -r name _; do
  case $name in
    http_proxy | https_proxy | no_proxy | HTTP_PROXY | HTTPS_PROXY | NO_PROXY | PIP_* | *_CERT_FILE | *_CERT_DIR | *_CA_BUNDLE | CI)
      environment+=("$name=${!name}") ;;
  esac
done < <(env)

result=0
for line in "$@"; do
  began=$SECONDS
  echo "== in the fresh root: $line"
  if chroot "$root" /usr/bin/env -i "${environment[@]}" bash -c "cd /srv/plimsoll && $line" </dev/null; then
    echo "== passed: $line, $((SECONDS - began)) s"
  else
    result=$?
    echo "== FAILED with $result: $line, $((SECONDS - began)) s"
    break
  fi
done
exit "$result"
