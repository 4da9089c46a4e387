#!/bin/bash
# WGSL of published crates, put together as their crates do, into BASE/wgsl/PACKAGE: one file for each module.
#
# usage: tools/corpus-crates.sh BASE     for tools/corpus
#
# cargo brings the crates, in these versions and from wherever it is told to.
set -euo pipefail
tools=$(cd "$(dirname "$0")" && pwd)
base=$1
host=$(rustc -vV | sed -n 's/^host: //p')

# Name here, crate, version, folder with the shaders.
crates=(
  'vello vello_shaders 0.5.1 shader'
  'iced iced_wgpu 0.13.5 src/shader'
  'rerun re_renderer 0.26.2 shader'
  'ratatui ratatui-wgpu 0.3.0 src'
  'nannou nannou_wgpu 0.19.0 src'
  'femtovg femtovg 0.19.3 src'
  'egui egui-wgpu 0.33.3 src'
  'glyphon glyphon 0.9.0 src'
  'pixels pixels 0.15.0 shaders'
)
# Modules of iced, which joins files in its source.
joined=(
  'quad-solid quad vertex quad/solid'
  'quad-gradient quad vertex quad/gradient color/oklab'
  'quad-gradient-linear quad vertex quad/gradient color/linear_rgb'
  'triangle-solid triangle triangle/solid'
  'triangle-gradient triangle triangle/gradient color/oklab'
  'image vertex image'
  'blit blit'
)

die() {
  printf '%s: %s\n' "$0" "$*" >&2
  exit 1
}

# The folder of a crate's source.
source_of() {
  local crate=$1 version=$2 dir=$base/crates/$1 manifest
  mkdir -p "$dir"
  : >"$dir/lib.rs"
  cat >"$dir/Cargo.toml" <<TOML
[package]
name = "shaders"
version = "0.0.0"
edition = "2021"
[lib]
path = "lib.rs"
[workspace]
[dependencies]
$crate = { version = "=$version", default-features = false }
TOML
  # For this machine alone: other systems' crates are most of what these depend on.
  (cd "$dir" && cargo fetch --quiet --target "$host" >"$dir/log" 2>&1) \
    || { tail -n 20 "$dir/log" >&2; die "$crate $version cannot be had"; }
  manifest=$(cd "$dir" && cargo metadata --format-version 1 --offline --filter-platform "$host" 2>/dev/null \
    | grep -o "\"manifest_path\":\"[^\"]*/$crate-$version/Cargo.toml\"" | head -n 1 | cut -d'"' -f4) \
    || die "cargo has not unpacked $crate"
  dirname "$manifest"
}

# Writes a module: package, name, definitions, files.
module() {
  local out=$base/wgsl.new/$1/$2.wgsl
  mkdir -p "$(dirname "$out")"
  awk -v defines="$3" -f "$tools/corpus-wgsl.awk" "${@:4}" >"$out"
}

# The modules of a package: name here, the crate's folder, the shaders' folder in it.
one() {
  local package=$1 root=$2/$3 line name file variants
  # What has an entry point is a module, in as many variants as `permutations` says.
  while read -r file; do
    name=${file#"$root/"} name=${name%.wgsl}
    variants=''
    [ ! -e "$root/permutations" ] || variants=$(awk -v name="$name" \
      '/^\+/ { if (on) print substr($0, 3); next } { on = $0 == name }' "$root/permutations")
    if [ -z "$variants" ]; then
      module "$package" "$name" '' "$file"
      continue
    fi
    while IFS=: read -r name line; do
      module "$package" "$name" "$line" "$file"
    done <<<"$variants"
  done < <(grep -rlE '@(vertex|fragment|compute)' --include='*.wgsl' "$root" | sort)
}

wanted=$(cat "$0" "$tools/corpus-wgsl.awk" | cksum)
[ "$(cat "$base/wgsl/stamp" 2>/dev/null)" != "$wanted" ] || exit 0
rm -rf "$base/wgsl.new"
done=0
for line in "${crates[@]}"; do
  read -r package crate version folder <<<"$line"
  done=$((done + 1))
  printf 'tools/corpus: WGSL of %s %s, crate %s of %s\n' "$crate" "$version" "$done" "${#crates[@]}" >&2
  root=$(source_of "$crate" "$version")
  if [ "$package" = iced ]; then
    # Its files are parts of modules.
    for line in "${joined[@]}"; do
      read -r -a parts <<<"$line"
      files=("${parts[@]:1}")
      files=("${files[@]/#/$root/$folder/}")
      module iced "${parts[0]}" '' "${files[@]/%/.wgsl}"
    done
    continue
  fi
  one "$package" "$root" "$folder"
done
rm -rf "$base/wgsl" "$base/crates"
echo "$wanted" >"$base/wgsl.new/stamp"
mv "$base/wgsl.new" "$base/wgsl"
