/** The smallest programs that look a text up among many: what a lookup costs whatever the code around it. */

const ROUNDS = 15;

const TEXTS = 100_000;
const LOOKUPS = 20_000;

/** As many words of 4 bytes as the table of a million tenants has: of slots, and of names with their plans. */
const SLOTS = 2 ** 21;
const WORDS = 10_000_000;
const READS = 200_000;

export interface Floors {
  /** Nanoseconds to find a text, which was just received, in a `Map` of 100,000. */
  readonly mapNs: number;
  /** Nanoseconds for a read at a random place of 8 MB, and one at a place of 40 MB that the first one names. */
  readonly readsNs: number;
}

export function measureFloors(): Floors {
  return { mapNs: leastOf(mapLookups()), readsNs: leastOf(dependentReads()) };
}

function leastOf(round: () => number): number {
  return Math.min(...Array.from({ length: ROUNDS }, round));
}

function mapLookups(): () => number {
  const map = new Map(Array.from({ length: TEXTS }, (_, i) => [`merchant_${i}`, i]));
  let seed = 0;
  return () => {
    const asked = Array.from({ length: LOOKUPS }, (_, i) => {
      const number = (Math.imul(seed + i, 0x9e3779b1) >>> 0) % (2 * TEXTS);
      return Buffer.from(`merchant_${number}`, 'latin1').toString('latin1');
    });
    seed += LOOKUPS;
    const startedMs = performance.now();
    let found = 0;
    for (const text of asked) if (map.get(text) !== undefined) found += 1;
    const ns = ((performance.now() - startedMs) * 1e6) / LOOKUPS;
    return found > 0 ? ns : Infinity;
  };
}

function dependentReads(): () => number {
  const slots = Uint32Array.from({ length: SLOTS }, (_, i) => Math.imul(i, 0x9e3779b1) >>> 0).map((random) => random % WORDS);
  const words = new Uint32Array(WORDS);
  for (let i = 0; i < WORDS; i += 1) words[i] = Math.imul(i, 0x85ebca6b) >>> 0;
  let at = 0;
  return () => {
    const startedMs = performance.now();
    for (let i = 0; i < READS; i += 1) at = words[slots[(at + i) & (SLOTS - 1)] ?? 0] ?? 0;
    return ((performance.now() - startedMs) * 1e6) / READS;
  };
}
