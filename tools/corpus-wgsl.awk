# Puts a WGSL module together: the files named, with what they import, each once, for the names in `defines`.
#
# `#import NAME` means shared/NAME.wgsl below the first file's folder (vello), `#import <PATH>` a file beside the one that says so
# (re_renderer); `#ifdef`, `#ifndef`, `#else` and `#endif` ask for `defines`.

function folder(path) {
  return path ~ /\// ? substr(path, 1, match(path, /[^\/]*$/) - 1) : ""
}

# a/b/../c and a/./c are a/c: files are told apart by their paths.
function plain(path) {
  while (sub(/\/\.\//, "/", path)) {}
  while (sub(/[^\/]+\/\.\.\//, "", path)) {}
  return path
}

function include(path,    line, words, depth) {
  path = plain(path)
  if (path in seen) return
  seen[path] = 1
  while ((status = (getline line < path)) > 0) {
    split(line, words)
    if (words[1] == "#ifdef" || words[1] == "#ifndef") {
      depth = ++level
      on[depth] = (on[depth - 1] && ((words[2] in known) == (words[1] == "#ifdef")))
      outer[depth] = on[depth - 1]
    } else if (words[1] == "#else") on[level] = outer[level] && !on[level]
    else if (words[1] == "#endif") level--
    else if (!on[level]) continue
    else if (words[1] == "#import" && words[2] ~ /^</)
      include(folder(path) substr(words[2], 2, length(words[2]) - 2))
    else if (words[1] == "#import") include(root "shared/" words[2] ".wgsl")
    else print line
  }
  if (status < 0) { print "cannot read " path > "/dev/stderr"; exit 1 }
  close(path)
}

BEGIN {
  split(defines, list)
  for (k in list) known[list[k]] = 1
  level = 0
  on[level] = 1
  root = folder(ARGV[1])
  for (k = 1; k < ARGC; k++) include(ARGV[k])
  exit 0
}
