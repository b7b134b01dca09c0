/** How a part of a rule's name is written in metrics, as envoyproxy/ratelimit writes it. */

/** Characters of a part: a caller that sends its own limits chooses the keys of their series. */
export const STAT_CHARS_MAX = 256;

/** They end a name in statsd. */
const RESERVED = /[:|]/g;

/** Its dots would be levels. */
const IPV4 = /\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}/g;

/** `dots`: none is left, not only none of an address. */
export function statText(text: string, { dots }: { readonly dots: boolean }): string {
  const plain = text.slice(0, STAT_CHARS_MAX).replace(RESERVED, '_');
  return dots ? plain.replaceAll('.', '_') : plain.replace(IPV4, (address) => address.replaceAll('.', '_'));
}
