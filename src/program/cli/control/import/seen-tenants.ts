/** The tenants that a file had so far, with their lines: a hash of 64 bits each, so that a million take 24 MB. */

import { createHash } from 'node:crypto';

/** Part of the table that is used before it doubles. */
const LOAD_MAX = 0.5;

export class SeenTenants {
  private hashes = new BigUint64Array(1_024);
  private lines = new Uint32Array(1_024);
  private used = 0;

  get size(): number {
    return this.used;
  }

  /** The line of the first one, if the tenant was there before. */
  add(tenant: string, line: number): number | undefined {
    const hash = createHash('sha256').update(tenant).digest().readBigUInt64LE();
    const at = this.placeOf(hash);
    if (this.lines[at] !== 0) return this.lines[at];
    this.put(at, hash, line);
    this.used += 1;
    if (this.used > this.lines.length * LOAD_MAX) this.double();
    return undefined;
  }

  /** Where the hash is, or the free place where it belongs. Line 0 marks a free place. */
  private placeOf(hash: bigint): number {
    const last = this.lines.length - 1;
    let at = Number(hash & BigInt(last));
    while (this.lines[at] !== 0 && this.hashes[at] !== hash) at = (at + 1) & last;
    return at;
  }

  private put(at: number, hash: bigint, line: number): void {
    this.hashes[at] = hash;
    this.lines[at] = line;
  }

  private double(): void {
    const { hashes, lines } = this;
    this.hashes = new BigUint64Array(2 * lines.length);
    this.lines = new Uint32Array(2 * lines.length);
    lines.forEach((line, at) => {
      const hash = hashes[at] ?? 0n;
      if (line !== 0) this.put(this.placeOf(hash), hash, line);
    });
  }
}
