/** Credentials for Redis: `password` or `user:password`, from a variable or from a file that may change. */

import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { SettingsError } from '../table/settings-error';

export interface RedisAuth {
  readonly username?: string;
  readonly password: string;
}

/** Split at the first colon, as the reference does. */
export function parseRedisAuth(auth: string): RedisAuth {
  const colon = auth.indexOf(':');
  return colon < 0 ? { password: auth } : { username: auth.slice(0, colon), password: auth.slice(colon + 1) };
}

/** REDIS_AUTH_FILE, read again for every connection, so that a new password needs no restart. */
export class RedisAuthFile {
  private known: RedisAuth;
  private problem: string | undefined;

  /** Throws SettingsError if the file is unreadable: the start has no earlier password to use. */
  constructor(private readonly path: string) {
    try {
      this.known = parseFile(readFileSync(path, 'utf8'));
    } catch (error) {
      const message = `${path} ${describeFault(error)}; name a file that holds a password, or user:password`;
      throw new SettingsError([{ name: 'REDIS_AUTH_FILE', message }]);
    }
  }

  /** The credentials in the file, or the last ones while it is unreadable. Reports each reason to `onProblem` once. */
  async read(onProblem: (sentence: string) => void): Promise<RedisAuth> {
    try {
      this.known = parseFile(await readFile(this.path, 'utf8'));
      this.problem = undefined;
    } catch (error) {
      const problem = `REDIS_AUTH_FILE: ${this.path} ${describeFault(error)}; Weir keeps using the last password that it read.`;
      // Weir reconnects to an unavailable Redis every second.
      if (problem !== this.problem) onProblem(problem);
      this.problem = problem;
    }
    return this.known;
  }
}

/** The file is empty, probably because it is being written. */
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
