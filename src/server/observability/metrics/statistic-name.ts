/** Formats a part of a rule's name in metrics, as envoyproxy/ratelimit does. */

/** Maximum length of a part: a caller that sends overrides chooses the keys of their series. */
export const STAT_CHARS_MAX = 256;

/** Separators of the statsd protocol. */
const RESERVED = /[:|]/g;

/** Its dots would separate levels. */
const IPV4 = /\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}/g;

/** `dots`: replace all dots, not only those of IPv4 addresses. */
export function statisticName(text: string, { dots }: { readonly dots: boolean }): string {
  const plain = text.slice(0, STAT_CHARS_MAX).replace(RESERVED, '_');
  return dots ? plain.replaceAll('.', '_') : plain.replace(IPV4, (address) => address.replaceAll('.', '_'));
}
