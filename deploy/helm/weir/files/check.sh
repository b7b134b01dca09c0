# Asks Weir whether it would start with the settings of the pods, and whether their limits load.
# Arguments: --strict or nothing, the number of places with limits, those places, and what else the settings name. Each place is
# `KIND NAME=FOLDER` or `KIND NAME=$VARIABLE`; it is empty while the object does not exist.
strict=$1
limits=$2
shift 2
is_missing() {
  case "$1" in
    *'=$'*) [ -z "$(printenv "${1##*=\$}")" ] ;;
    *) [ -z "$(ls "${1#*=}" 2>/dev/null)" ] ;;
  esac
}
count=0
found=0
missing=0
for place in "$@"; do
  count=$((count + 1))
  if is_missing "$place"; then
    echo "The ${place%%=*} does not exist yet, or is empty, so it is not checked."
    [ "$count" -le "$limits" ] || missing=1
  elif [ "$count" -le "$limits" ]; then
    found=1
  fi
done
if [ "$missing" = 0 ]; then
  /bin/weir settings --changed || exit 1
fi
if [ "$found" = 1 ]; then
  /bin/weir check $strict || exit 1
fi
