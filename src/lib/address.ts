/** Reads IPv4 and IPv6 addresses and networks, and writes those of clients: for X-Forwarded-For, and for `match: cidr`. */

/** One word of 32 bits for IPv4, four for IPv6. An IPv4 address in IPv6 form is one of IPv4. */
export type Address = readonly number[];

export interface Network {
  /** Without bits beyond the prefix. */
  readonly words: Address;
  /** Length of the prefix. */
  readonly bits: number;
}

/** Leading bits of an IPv6 address that name a client by default: one host may have a whole /64. */
export const CLIENT_IPV6_BITS = 64;

const WORD_BITS = 32;
const GROUPS = 8;
const GROUP_DIGITS_MAX = 4;
/** The words before the IPv4 address in an IPv6 address such as `::ffff:192.0.2.1`, and their bits. */
const MAPPED = [0, 0, 0xffff] as const;
const MAPPED_BITS = MAPPED.length * WORD_BITS;

const DOT = 0x2e;
const COLON = 0x3a;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;

/** Undefined: it is not an address. The zone of an IPv6 address is left out: it names an interface, not a client. */
export function parseAddress(text: string): Address | undefined {
  if (!text.includes(':')) {
    const word = parseIpv4(text);
    return word === undefined ? undefined : [word];
  }
  const zone = text.indexOf('%');
  if (zone >= 0 && !/^[\w.:-]+$/.test(text.slice(zone + 1))) return undefined;
  const words = parseIpv6(zone < 0 ? text : text.slice(0, zone));
  return words !== undefined && MAPPED.every((word, index) => words[index] === word) ? words.slice(MAPPED.length) : words;
}

/** The address without the port that some load balancers add: `192.0.2.1:5000`, `[2001:db8::1]:5000`. */
export function withoutPort(text: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/.exec(text) ?? [];
  return bracketed ?? plain ?? text;
}

/** The item of a list that stands this many places before the last one; undefined if the list has fewer. */
export function itemBeforeLast(list: string, places: number): string | undefined {
  let end = list.length;
  for (let place = 0; place < places; place += 1) {
    const comma = list.lastIndexOf(',', end - 1);
    if (comma === -1 || end === 0) return undefined;
    end = comma;
  }
  const start = end === 0 ? 0 : list.lastIndexOf(',', end - 1) + 1;
  return list.slice(start, end).trim();
}

/**
 * The address in X-Forwarded-For before the last ones, which this many proxies wrote: what is left of it, clients can invent.
 * Undefined: that place has no valid address.
 */
export function forwardedAddress(list: string, proxies: number): Address | undefined {
  const item = itemBeforeLast(list, proxies);
  return item === undefined ? undefined : parseAddress(withoutPort(item));
}

/** The address of an IPv4 client, or the network of an IPv6 client, always in the same spelling: `2001:db8:0:0::/64`. */
export function clientText(address: Address, ipv6PrefixBits: number): string {
  const [word = 0] = address;
  if (address.length === 1) return [word >>> 24, (word >>> 16) & 0xff, (word >>> 8) & 0xff, word & 0xff].join('.');
  const groups = masked(address, ipv6PrefixBits).flatMap((each) => [each >>> 16, each & 0xffff]);
  const kept = groups.slice(0, Math.ceil(ipv6PrefixBits / 16)).map((group) => group.toString(16));
  return kept.length === GROUPS ? `${kept.join(':')}/${ipv6PrefixBits}` : `${kept.join(':')}::/${ipv6PrefixBits}`;
}

/** `10.0.0.0/8`, `2001:db8::/32`, or an address, which is a network of its own. Undefined: it is neither. */
export function parseNetwork(text: string): Network | undefined {
  const slash = text.indexOf('/');
  const words = parseAddress(slash < 0 ? text : text.slice(0, slash));
  if (words === undefined) return undefined;
  const width = words.length * WORD_BITS;
  if (slash < 0) return { words, bits: width };
  const digits = text.slice(slash + 1);
  if (!/^(?:0|[1-9]\d{0,2})$/.test(digits)) return undefined;
  // The prefix of an IPv4 address in IPv6 form counts the words before it.
  const isMapped = words.length === 1 && text.includes(':');
  const bits = Number(digits) - (isMapped ? MAPPED_BITS : 0);
  return bits < 0 || bits > width ? undefined : { words: masked(words, bits), bits };
}

/** As `parseNetwork` reads it. */
export function networkText({ words, bits }: Network): string {
  if (words.length === 1) return `${clientText(words, 0)}/${bits}`;
  const groups = words.flatMap((word) => [word >>> 16, word & 0xffff]).map((group) => group.toString(16));
  const end = groups.findLastIndex((group) => group !== '0') + 1;
  return end >= GROUPS - 1 ? `${groups.join(':')}/${bits}` : `${groups.slice(0, end).join(':')}::/${bits}`;
}

/** The client or network that a value of a request names; undefined: it names none. */
export function parseClient(value: string): Network | undefined {
  return parseNetwork(withoutPort(value));
}

/** Whether the network includes all of the other one. */
export function includes({ words, bits }: Network, other: Network): boolean {
  if (words.length !== other.words.length || bits > other.bits) return false;
  return words.every((word, index) => word === maskedWord(other.words[index] ?? 0, bits - index * WORD_BITS));
}

/** The words with all bits beyond the prefix cleared. */
export function masked(words: Address, bits: number): number[] {
  return words.map((word, index) => maskedWord(word, bits - index * WORD_BITS));
}

function maskedWord(word: number, bits: number): number {
  if (bits <= 0) return 0;
  return bits >= WORD_BITS ? word : (word & (0xffffffff << (WORD_BITS - bits))) >>> 0;
}

/** Four numbers up to 255, without leading zeros. */
function parseIpv4(text: string): number | undefined {
  let word = 0;
  let byte = -1;
  let dots = 0;
  for (let at = 0; at <= text.length; at += 1) {
    const code = at === text.length ? DOT : text.charCodeAt(at);
    if (code >= DIGIT_0 && code <= DIGIT_9) {
      if (byte === 0) return undefined;
      byte = Math.max(byte, 0) * 10 + code - DIGIT_0;
      if (byte > 0xff) return undefined;
    } else {
      if (code !== DOT || byte < 0 || dots > 3) return undefined;
      word = word * 0x100 + byte;
      byte = -1;
      dots += 1;
    }
  }
  return dots === 4 ? word : undefined;
}

/** The last two groups may be written as an IPv4 address. */
function parseIpv6(text: string): number[] | undefined {
  const groups: number[] = [];
  let gap = -1;
  let at = 0;
  if (text.startsWith('::')) [gap, at] = [0, 2];
  while (at < text.length) {
    const start = at;
    let group = 0;
    for (; at < text.length && at - start <= GROUP_DIGITS_MAX; at += 1) {
      const digit = hexDigit(text.charCodeAt(at));
      if (digit < 0) break;
      group = group * 16 + digit;
    }
    if (text.charCodeAt(at) === DOT) {
      const word = parseIpv4(text.slice(start));
      if (word === undefined) return undefined;
      groups.push(word >>> 16, word & 0xffff);
      break;
    }
    if (at === start || at - start > GROUP_DIGITS_MAX) return undefined;
    groups.push(group);
    if (at === text.length) break;
    if (text.charCodeAt(at) !== COLON) return undefined;
    at += 1;
    if (text.charCodeAt(at) === COLON) {
      if (gap >= 0) return undefined;
      gap = groups.length;
      at += 1;
    } else if (at === text.length) return undefined;
  }
  const missing = GROUPS - groups.length;
  if (gap < 0 ? missing !== 0 : missing < 1) return undefined;
  if (gap >= 0) groups.splice(gap, 0, ...new Array<number>(missing).fill(0));
  return [0, 2, 4, 6].map((index) => (groups[index] ?? 0) * 0x10000 + (groups[index + 1] ?? 0));
}

/** -1: it is none. */
function hexDigit(code: number): number {
  if (code >= DIGIT_0 && code <= DIGIT_9) return code - DIGIT_0;
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
