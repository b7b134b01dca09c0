#!/bin/sh
# Checks a change of limits, and writes weir-report.md for the merge request and weir-tests.xml (JUnit).
#
#   check-limits.sh NEW OLD      two configurations, each a YAML file or a directory
#
#   WEIR           the command (default: weir)
#   STRICTER       fail: a change that may deny more requests fails; default: it is only reported
#   REPLAY_LOG     a sample of yesterday's traffic, with REPLAY_MAP; without it nothing is replayed
#
# Exit codes: 0 passed, 1 a check or a test failed, or the change is stricter and STRICTER=fail.
set -eu

new=${1:?give the new configuration}
old=${2:?give the old configuration}
weir=${WEIR:-weir}
status=0

$weir check "$new" || exit 1
$weir test "$new" --format junit > weir-tests.xml || status=1

code=0
$weir diff "$old" "$new" --format markdown > weir-report.md || code=$?
case $code in
  0 | 10) ;;
  11) [ "${STRICTER:-report}" != fail ] || status=1 ;;
  *) exit 1 ;;
esac

if [ -n "${REPLAY_LOG:-}" ] && [ -f "$REPLAY_LOG" ]; then
  echo >> weir-report.md
  $weir replay "$REPLAY_LOG" --map "${REPLAY_MAP:?give the mapping of REPLAY_LOG}" \
    --config "$old" --candidate "$new" --format markdown >> weir-report.md || status=1
fi

exit $status
