/** Shares top keys through Redis: one string for each process and window, beside the heartbeats that name the processes. */

import type { TakeOptions } from '../store/port/store';
import { ReplyError } from '../store/redis/client/reply-error';
import type { ScriptRun } from '../store/redis/redis-store';
import { loadScript } from '../store/redis/script-loader';
import type { Publication, TopExchange, TopPlace } from './exchange';

export interface RedisExchangeOptions {
  /** Runs a script on the server of its key. */
  readonly run: <Answer>(call: ScriptRun<Answer>, options: TakeOptions) => Promise<Answer>;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
  /** The key with the heartbeats: `name when` for each process, separated by a line feed. */
  readonly instancesKey: string;
  /** The name of this process in its heartbeats. */
  readonly name: string;
}

export class RedisExchange implements TopExchange {
  readonly name: string;
  private readonly script = loadScript('summary');

  constructor(private readonly options: RedisExchangeOptions) {
    this.name = options.name;
  }

  async instances(): Promise<readonly string[]> {
    const beats = await this.get(this.options.instancesKey);
    return Array.from((beats ?? '').matchAll(/(\S+) \d+/g), ([, name = '']) => name);
  }

  read(place: TopPlace): Promise<string | undefined> {
    return this.get(this.keyOf(place));
  }

  async publish({ minutes, text, ttlMs }: Publication): Promise<void> {
    await this.run(this.keyOf({ instance: this.name, minutes }), { args: [text, String(ttlMs)], read: readText });
  }

  private get(key: string): Promise<string | undefined> {
    return this.run(key, { args: [], read: readText });
  }

  private run<Answer>(key: string, call: Pick<ScriptRun<Answer>, 'args' | 'read'>): Promise<Answer> {
    return this.options.run({ script: this.script, keys: [key], ...call }, {});
  }

  private keyOf({ instance, minutes }: TopPlace): string {
    return `${this.options.keyPrefix}weir:top:${instance}:${minutes}`;
  }
}

function readText(reply: unknown): string | undefined {
  if (reply === null) return undefined;
  if (typeof reply !== 'string') throw new ReplyError('it is not a text');
  return reply;
}
