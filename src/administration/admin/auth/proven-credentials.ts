/** Remembers which tokens were valid, as hashes, so that failed tries of others from the same address do not lock out their owners. */

import { hashOfSecret } from './secret-hash';

/** Beyond it the tokens that were used least recently are forgotten. */
const PROVEN_MAX = 2_000;

export class ProvenCredentials {
  /** The least recently used first. */
  private readonly hashes = new Set<string>();

  has(token: string): boolean {
    return this.hashes.has(hashOfSecret(token));
  }

  add(token: string): void {
    const hash = hashOfSecret(token);
    this.hashes.delete(hash);
    this.hashes.add(hash);
    const [oldest] = this.hashes;
    if (this.hashes.size > PROVEN_MAX && oldest !== undefined) this.hashes.delete(oldest);
  }

  delete(token: string): void {
    this.hashes.delete(hashOfSecret(token));
  }
}
