/** What the engines use of node:crypto, in a browser. */

import { Buffer } from 'buffer';

export function randomBytes(size: number): Buffer {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(size)));
}

export function randomUUID(): string {
  return crypto.randomUUID();
}

/** Bucket keys of 200 bytes and more are hashed; a simulation has one short key. */
export function createHash(): never {
  throw new Error('a browser hashes no keys');
}
