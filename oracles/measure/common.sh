# What the scripts that boot a guest have in common; they source it with their arguments: GUEST BOARDLAB [OUT]. It builds the agent
# into a share for the guest, and has `boot JOB QEMU-ARG...`, which runs a job and keeps the measurements in OUT, `take`, and
# `show TABLES`.
guest=$1 boardlab=$2
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
out=${3:-$work/out} share=$work/share; mkdir -p "$share" "$out"
make -s -C "$here/../../agent" CC="${AGENT_CC:-cc} -static" BUILD="$work/build"
cp "$work/build/boardlab-agent" "$share/agent"

# A program of the host for the guest, with its libraries in $share/lib: `take PROGRAM [NAME]`.
take() {
  local path
  path=$(PATH=$PATH:/usr/sbin:/sbin command -v "$1")
  mkdir -p "$share/lib"
  cp -L "$path" "$share/${2:-$(basename "$path")}"
  ldd "$path" | grep -o '/[^ ]*' | sort -u | while read -r path; do cp -Ln "$path" "$share/lib/"; done
}

boot() {
  GUEST_SECONDS=${GUEST_SECONDS:-900} "$here/../guest.sh" run "$guest" "$share" "$@"
  cp "$share"/*.jsonl "$out"
}

show() {
  local file
  for file in "$out"/*.jsonl; do
    echo; echo "== $(basename "$file" .jsonl)"
    "$boardlab" measure read "$file" --format csv | grep -E ",($1)," || true
  done
}
