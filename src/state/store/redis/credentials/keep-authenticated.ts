/** Keeps an open connection authenticated: sends AUTH with another token before the one in use ends. */

import { backoffMs } from '../../../../lib/backoff';
import { describeError } from '../client/redis-errors';

export interface Token {
  readonly username: string;
  readonly password: string;
  /** Time until an open connection needs another one, in milliseconds. */
  readonly renewAfterMs: number;
}

export interface MintOptions {
  /** Whether an open connection asks, because its token comes to its end. */
  readonly isRenewal: boolean;
}

export type MintToken = (options: MintOptions) => Promise<Token>;

/** Called after each renewal, with why it failed: the connection goes on, and the next try follows. */
export type OnRenewal = (problem: string | undefined) => void;

export interface KeepAuthenticatedInput {
  readonly mint: MintToken;
  readonly onRenewal: OnRenewal;
  readonly renewAfterMs: number;
  /** Sends a command on the open connection. Resolves when Redis accepts it. */
  readonly send: (command: readonly string[]) => Promise<void>;
}

/** Waits before another try. */
const RETRY = { firstMs: 500, maxMs: 60_000, factor: 2, random: Math.random };

/** Part of each wait that is random, so that connections that were opened together do not renew in step. */
const SPREAD = 0.1;

/** Returns what ends it. */
export function keepAuthenticated({ mint, onRenewal, renewAfterMs, send }: KeepAuthenticatedInput): () => void {
  let timer: NodeJS.Timeout | undefined;
  let failures = 0;
  let isOver = false;
  const wait = (ms: number): void => {
    if (isOver) return;
    timer = setTimeout(() => void renew(), ms);
    timer.unref();
  };
  const waitForEnd = (ms: number): void => {
    wait(ms * (1 - SPREAD * Math.random()));
  };
  const renew = async (): Promise<void> => {
    try {
      const token = await mint({ isRenewal: true });
      if (isOver) return;
      // Redis keeps the user of a connection whose AUTH it refuses, and commands before and after it are not affected.
      await send(['AUTH', token.username, token.password]);
      failures = 0;
      onRenewal(undefined);
      waitForEnd(token.renewAfterMs);
    } catch (error) {
      if (isOver) return;
      onRenewal(describeError(error));
      wait(backoffMs({ ...RETRY, failures }));
      failures += 1;
    }
  };
  waitForEnd(renewAfterMs);
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}
