/** Remembers which credentials were valid, as SHA-256, so that failed tries of others from the same address do not lock out their owners. */

import { createHash } from 'node:crypto';

/** Beyond it the credentials that were used least recently are forgotten. */
const PROVEN_MAX = 2_000;

export class ProvenCredentials {
  /** The least recently used first. */
  private readonly hashes = new Set<string>();

  has(authorization = ''): boolean {
    return this.hashes.size > 0 && this.hashes.has(hashOf(authorization));
  }

  add(authorization = ''): void {
    const hash = hashOf(authorization);
    this.hashes.delete(hash);
    this.hashes.add(hash);
    const [oldest] = this.hashes;
    if (this.hashes.size > PROVEN_MAX && oldest !== undefined) this.hashes.delete(oldest);
  }

  delete(authorization = ''): void {
    if (this.hashes.size > 0) this.hashes.delete(hashOf(authorization));
  }
}

function hashOf(authorization: string): string {
  return createHash('sha256').update(authorization).digest('base64');
}
