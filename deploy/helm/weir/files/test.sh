# Asks Weir twice for a key of this test's own that brings a limit of one hit a day.
key="weir_helm_test=$(hostname)-$(date +%s)-$$"
# In a mesh the pod ends only when its sidecar does.
quit_sidecar() {
  [ -z "$WEIR_SIDECAR_QUIT_URL" ] ||
    node -e 'fetch(process.env.WEIR_SIDECAR_QUIT_URL, { method: "POST" }).catch((error) => console.error(`${process.env.WEIR_SIDECAR_QUIT_URL}: ${error.cause?.code ?? error}`))'
}
trap quit_sidecar EXIT
ask() {
  # The flags are words: each is one of our own, without spaces.
  /bin/weir ask --address "$WEIR_ADDRESS" --domain "$WEIR_DOMAIN" --descriptor "$key" --limit 1/day $WEIR_TLS_FLAGS
}
expect() {
  answer=$(ask) || exit 1
  echo "$answer"
  case "$answer" in
    *"\"overallCode\":\"$1\""*) ;;
    *) echo "expected $1 for the domain $WEIR_DOMAIN; does the configuration have this domain (test.domain)?" >&2; exit 1 ;;
  esac
}
expect OK
expect OVER_LIMIT
echo "One decision and one denial, as expected."
