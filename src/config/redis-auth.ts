/** Who we are to Redis: `password` or `user:password`, from a variable or from a file that may change. */

import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { SettingsError } from './settings-error';

export interface RedisAuth {
  readonly username?: string;
  readonly password: string;
}

/** Split at the first colon, as the reference does. */
export function parseRedisAuth(auth: string): RedisAuth {
  const colon = auth.indexOf(':');
  return colon < 0 ? { password: auth } : { username: auth.slice(0, colon), password: auth.slice(colon + 1) };
}

/** REDIS_AUTH_FILE, read anew for every connection, so that a new password needs no restart. */
export class RedisAuthFile {
  private known: RedisAuth;
  private problem: string | undefined;

  /** Throws SettingsError if it can't be read: at the start there is nothing else to go by. */
  constructor(private readonly path: string) {
    try {
      this.known = parseFile(readFileSync(path, 'utf8'));
    } catch (error) {
      const message = `${path} ${describeFault(error)}; name a file that holds a password, or user:password`;
      throw new SettingsError([{ name: 'REDIS_AUTH_FILE', message }]);
    }
  }

  /** What it holds now; while it can't be read, what it held last. `onProblem` is told once why it can't. */
  async read(onProblem: (sentence: string) => void): Promise<RedisAuth> {
    try {
      this.known = parseFile(await readFile(this.path, 'utf8'));
      this.problem = undefined;
    } catch (error) {
      const problem = `REDIS_AUTH_FILE: ${this.path} ${describeFault(error)}; the password that it held last is used.`;
      // A Redis that is away is tried every second.
      if (problem !== this.problem) onProblem(problem);
      this.problem = problem;
    }
    return this.known;
  }
}

/** A file that is just being written. */
class EmptyFile extends Error {}

function parseFile(text: string): RedisAuth {
  const auth = text.replace(/\r?\n$/, '');
  if (auth === '') throw new EmptyFile();
  return parseRedisAuth(auth);
}

function describeFault(error: unknown): string {
  if (error instanceof EmptyFile) return 'is empty';
  return `can't be read (${(error as NodeJS.ErrnoException).code ?? String(error)})`;
}
