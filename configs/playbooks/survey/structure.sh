# Structure: the number of files, their types and sizes; identical files; unusual findings.

# One line per file: size, tab, name. `ls -q` prints ? for characters that could break the line (the
# ls of busybox always does).
ls -dlnq . >/dev/null 2>&1 && quiet=-q || quiet=-d
find . -type f -exec env LC_ALL=C.UTF-8 ls -dln "$quiet" {} + 2>"$work/errors" | awk '{
  size = $5; name = $0
  sub(/^[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ /, "", name)
  sub(/^\.\//, "", name); gsub(/[`|\t]/, "?", name)
  printf "%s\t%s\n", size, name }' | sort -t "$(printf '\t')" -k2 >"$work/inventory"

files=$(find . -type f -print0 2>/dev/null | count)
folders=$(find . -mindepth 1 -type d -print0 2>/dev/null | count)
links=$(find . -type l -print0 2>/dev/null | count)
others=$(find . ! -type f ! -type d ! -type l -print0 2>/dev/null | count)
bytes=$(awk -F '\t' '{ n += $1 } END { printf "%.0f", n }' "$work/inventory")

# Identical content: only files with the same size as another are read, small ones first, up to
# 64 MB each and 1 GB in total.
awk -F '\t' '$1 > 0 && $1 <= 67108864 { n[$1]++ } END { for (s in n) if (n[s] > 1) print s, n[s] }' \
  "$work/inventory" | sort -n | head -n 400 |
  awk '{ read += $1 * $2; if (read <= 1000000000) print $1 }' >"$work/sizes"
sizes=() compared=yes
while read -r size; do sizes+=(-o -size "${size}c"); done <"$work/sizes"
if [ ${#sizes[@]} -gt 0 ]; then
  find . -type f \( "${sizes[@]:1}" \) -exec cksum {} + 2>/dev/null >"$work/sums"
  [ -s "$work/sums" ] || compared=no
  awk '
    /^\\?[0-9]+ [0-9]+ \.\// { sub(/^\\/, ""); key = $1 " " $2; n++; keys[n] = key
      name = $0; sub(/^[0-9]+ [0-9]+ \.\//, "", name); names[n] = name; next }
    n { names[n] = names[n] "?" $0 }
    END {
      for (i = 1; i <= n; i++) {
        gsub(/[[:cntrl:]`|]/, "?", names[i])
        line = "`" names[i] "`"
        if (keys[i] in same) { same[keys[i]] = same[keys[i]] " = " line; many[keys[i]]++ }
        else { same[keys[i]] = line; many[keys[i]] = 1 }
      }
      for (key in same) if (many[key] > 1) { split(key, part, " "); print same[key] " (" part[2] " bytes each)" }
    }' "$work/sums" | sort >"$work/same"
else
  : >"$work/same"
fi
groups=$(wc -l <"$work/same" | tr -d ' ')

: >"$work/unreadable"
: >"$work/sniffed"
sniffed=0
while IFS= read -r -d '' file; do
  if [ ! -r "$file" ]; then
    shown "$file"
    printf '%s\n' "$name" >>"$work/unreadable"
    continue
  fi
  case $file in
    *.[cC][sS][vV] | *.[tT][sS][vV] | *.[jJ][sS][oO][nN] | *.[jJ][sS][oO][nN][lL]) continue ;;
    *.md | *.MD | *.txt | *.TXT | *.log | *.rst | *.html | *.htm) continue ;;
  esac
  [ $sniffed -lt 60 ] && [ -s "$file" ] || continue
  sniffed=$((sniffed + 1))
  magic=$(head -c 16 "$file" 2>/dev/null | od -An -v -tx1 | tr -d ' \n')
  case $magic in
    89504e470d0a1a0a*) kind="PNG image, $(head -c 24 "$file" | tail -c 8 | od -An -v -tu1 |
      awk '{ printf "%d x %d", $3 * 256 + $4, $7 * 256 + $8 }')" ;;
    ffd8ff*) kind="JPEG image" ;;
    47494638*) kind="GIF image" ;;
    25504446*) kind="PDF document" ;;
    504b0304*) kind="ZIP archive (or an office document)" ;;
    1f8b*) kind="gzip archive" ;;
    7f454c46*) kind="ELF program" ;;
    53514c69746520666f726d6174*) kind="SQLite database" ;;
    2321*) kind="script: $(head -c 200 "$file" | head -n 1 | tr -dc '[:print:]' | head -c 60)" ;;
    *) if is_binary "$file"; then kind="binary, begins with ${magic:0:16}"; else kind="text"; fi ;;
  esac
  shown "$file"
  printf -- '- `%s`: %s\n' "$name" "$kind" >>"$work/sniffed"
done < <(find . -type f -print0 2>/dev/null | sort -z)
unreadable=$(wc -l <"$work/unreadable" | tr -d ' ')
denied=$(grep -c . "$work/errors")

biggest=$(sort -rn "$work/inventory" | head -n 1 | cut -f 2-)
if [ "$files" = 0 ]; then
  short="the folder holds no files"
else
  short="$files $(one_or_more "$files" file), $folders $(one_or_more "$folders" folder) below the top, $(human "$bytes") in all; the biggest is \`$biggest\`; "
  if [ $compared = no ]; then short+="whether files are the same could not be seen"
  elif [ "$groups" = 0 ]; then short+="no two files are the same"
  else short+="$groups $(one_or_more "$groups" group) of identical files"; fi
fi

{
  printf '# Structure of %s\n\nIn short: %s.\n' "$title" "$short"
  if [ "$files" -gt 0 ]; then
    printf '\n## Types\n\n| type | files | bytes |\n|---|---:|---:|\n'
    awk -F '\t' '{ base = $2; sub(/^.*\//, "", base); type = "(none)"
      if (match(base, /.\.[A-Za-z0-9_]+$/)) { type = tolower(base); sub(/^.*\./, ".", type) }
      n[type]++; size[type] += $1 }
      END { for (t in n) printf "%d\t| %s | %d | %.0f |\n", n[t], t, n[t], size[t] }' \
      "$work/inventory" | sort -k1,1rn -k2 | head -n 20 | cut -f 2-
    printf '\n## Biggest files\n\n'
    sort -k1,1rn "$work/inventory" | head -n 5 | awk -F '\t' '{ printf "- `%s`: %.0f bytes\n", $2, $1 }'
  fi
  if [ "$groups" -gt 0 ]; then
    printf '\n## Identical files (same size and checksum)\n\n'
    head -n 20 "$work/same" | sed 's/^/- /'
  fi
  if [ -s "$work/sniffed" ]; then
    printf '\n## Other files, by their first bytes\n\n'
    head -n 30 "$work/sniffed"
  fi
  printf '\n## Odd things\n\n'
  awk -F '\t' '$1 == 0 { n++; if (n <= 5) names = names (n > 1 ? ", " : "") "`" $2 "`" }
    END { if (n) printf "- empty files: %d (%s)\n", n, names }' "$work/inventory"
  [ "$unreadable" = 0 ] || printf -- '- files that may not be read: %d (`%s`)\n' "$unreadable" "$(head -n 1 "$work/unreadable")"
  [ "$denied" = 0 ] || printf -- '- places that could not be looked into: %d\n' "$denied"
  [ "$links" = 0 ] || printf -- '- symbolic links, not followed: %d\n' "$links"
  [ "$others" = 0 ] || printf -- '- pipes, sockets and devices, left alone: %d\n' "$others"
  awk -F '\t' '$2 ~ /[?]|^ | $|  |\/ / { n++; if (n <= 3) names = names (n > 1 ? ", " : "") "`" $2 "`" }
    END { if (n) printf "- unusual names: %d (%s)\n", n, names }' "$work/inventory"
} >"$scratch/findings.md"
[ "$(tail -n 2 "$scratch/findings.md" | head -n 1)" != "## Odd things" ] || echo "- none" >>"$scratch/findings.md"

echo "SHORT $short"
if [ "$groups" -gt 0 ]; then
  same=$(head -n 3 "$work/same" | in_one_line)
  echo "TELL tables: Identical files, count them once: $same"
  echo "TELL texts: Identical files, count them once: $same"
fi
