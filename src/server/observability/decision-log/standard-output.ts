/** Standard output as a sink of lines. */

import { fstatSync, write } from 'node:fs';
import { promisify } from 'node:util';
import type { LineSink } from './line-writer';

const STDOUT_FD = 1;

const writeTo = promisify(write);

/** A pipe of Linux takes these bytes in one piece, so lines of several processes, and of the log, are never mixed. */
const PIPE_BYTES = 4096;

export class StandardOutput implements LineSink {
  readonly chunkBytes = PIPE_BYTES;
  /** Node writes to files at once, which would let decisions wait for the disk. */
  private readonly isStream: boolean;

  constructor() {
    const about = fstatSync(STDOUT_FD);
    this.isStream = about.isFIFO() || about.isSocket() || process.stdout.isTTY;
    // The reader may go away. Without a listener, that would end the process.
    if (this.isStream) process.stdout.on('error', () => undefined);
  }

  prepare(): Promise<boolean> {
    return Promise.resolve(false);
  }

  async write(bytes: Buffer): Promise<number> {
    if (!this.isStream) return (await writeTo(STDOUT_FD, bytes)).bytesWritten;
    return new Promise((resolve, reject) => {
      process.stdout.write(bytes, (error) => {
        if (error) reject(error);
        else resolve(bytes.length);
      });
    });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
