/** Pieces of the protobuf wire format, for messages that no encoder would write. */

/** `bytes` at least: zeroes that carry on make a varint longer than it needs to be. */
export function varint(value: bigint | number, { bytes = 1 }: { bytes?: number } = {}): Buffer {
  const out: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  do {
    const more = rest >= 0x80n || out.length + 1 < bytes;
    out.push(Number(rest & 0x7fn) | (more ? 0x80 : 0));
    rest >>= 7n;
  } while (rest > 0n || out.length < bytes);
  return Buffer.from(out);
}

export function tag(field: number, wireType: number): Buffer {
  return varint((field << 3) | wireType);
}

export function number(field: number, value: bigint | number, options?: { bytes?: number }): Buffer {
  return Buffer.concat([tag(field, 0), varint(value, options)]);
}

export function bytes(field: number, content: Buffer | string): Buffer {
  const raw = Buffer.from(content as string, 'latin1');
  return Buffer.concat([tag(field, 2), varint(raw.length), raw]);
}

export function group(field: number, ...content: Buffer[]): Buffer {
  return Buffer.concat([tag(field, 3), ...content, tag(field, 4)]);
}
