/** The texts that processes publish about themselves in Redis, beside the heartbeats that name the processes. */

import { ReplyError } from '../store/redis/client/reply-error';
import type { RunScript } from '../store/redis/redis-store';
import { loadScript } from '../store/redis/script-loader';
import { instancesKey } from './instances';

export interface PublishedTextsOptions {
  readonly run: RunScript;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
}

export class PublishedTexts {
  private readonly script = loadScript('summary');

  constructor(private readonly options: PublishedTextsOptions) {}

  /** The names of the live processes. */
  async names(): Promise<readonly string[]> {
    const beats = (await this.run(instancesKey(this.options.keyPrefix), [])) ?? '';
    return Array.from(beats.matchAll(/(\S+) \d+/g), ([, name = '']) => name);
  }

  /** The last text of that name, unless it expired. */
  read(name: string): Promise<string | undefined> {
    return this.run(this.keyOf(name), []);
  }

  async write(name: string, text: string, { ttlMs }: { readonly ttlMs: number }): Promise<void> {
    await this.run(this.keyOf(name), [text, String(ttlMs)]);
  }

  private run(key: string, args: readonly string[]): Promise<string | undefined> {
    return this.options.run({ script: this.script, keys: [key], args, read: readText }, {});
  }

  private keyOf(name: string): string {
    return `${this.options.keyPrefix}weir:${name}`;
  }
}

function readText(reply: unknown): string | undefined {
  if (reply === null) return undefined;
  if (typeof reply !== 'string') throw new ReplyError('it is not a text');
  return reply;
}
