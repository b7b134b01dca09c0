/** Lines of the statsd protocol, and how they are packed into packets. */

import type { StatsdLine } from './statsd-differences';

/** `tags` (`key:value`) are sent only to servers that support them (dogstatsd). */
export type TaggedLine = StatsdLine & { readonly tags: readonly string[] };

const TYPES: Readonly<Record<StatsdLine['kind'], string>> = { counter: 'c', gauge: 'g', time: 'ms' };

/** Characters that would end a name, a value or a tag. */
const RESERVED_IN_NAME = /[:|\n\r]/g;
const RESERVED_IN_TAG = /[|@,#\n\r]/g;

/** `name:value|type`, and `|#tag,tag` for dogstatsd; reserved characters become `_`. */
export function toLine({ kind, name, value, tags }: TaggedLine): string {
  const line = `${name.replace(RESERVED_IN_NAME, '_')}:${value}|${TYPES[kind]}`;
  return tags.length === 0 ? line : `${line}|#${tags.map((tag) => tag.replace(RESERVED_IN_TAG, '_')).join(',')}`;
}

/** Joins lines by line feeds into packets of at most `bytesMax`; a longer line is a packet of its own. */
export function toPackets(lines: readonly string[], bytesMax: number): string[] {
  const packets: string[] = [];
  let packet: string[] = [];
  let bytes = 0;
  for (const line of lines) {
    const lineBytes = Buffer.byteLength(line);
    if (packet.length > 0 && bytes + 1 + lineBytes > bytesMax) {
      packets.push(packet.join('\n'));
      packet = [];
      bytes = 0;
    }
    bytes += (packet.length > 0 ? 1 : 0) + lineBytes;
    packet.push(line);
  }
  if (packet.length > 0) packets.push(packet.join('\n'));
  return packets;
}
