/** Steady requests of merchants through Envoy: what passed, what was denied, and what failed. */

import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { bearer } from '../chain/tokens';
import { hangLimitMs } from '../../support/clock/hang-limit';

/** Between two requests of a caller, so that tests share two cores with other stages. */
const PAUSE_MS = 10;
const TIMEOUT_MS = hangLimitMs(20_000);

interface Counts {
  passed: number;
  denied: number;
}

export interface Load {
  of(merchant: string): Readonly<Counts>;
  /** Anything but a decision of Weir: other statuses, errors, and requests that Envoy let pass without one. */
  readonly failures: readonly string[];
  stop(): Promise<void>;
}

/** By merchant: how many callers it has, each with one request at a time. */
export function startLoad(url: string, callers: Readonly<Record<string, number>>): Load {
  const agent = new Agent({ keepAlive: true });
  const counts = new Map(Object.keys(callers).map((merchant) => [merchant, { passed: 0, denied: 0 }]));
  const failures: string[] = [];
  let isStopped = false;
  const call = async (merchant: string): Promise<void> => {
    // A forged header changes nothing.
    const headers = { ...bearer({ merchant }), 'x-merchant': 'merchant_7' };
    while (!isStopped) {
      const { status, isDecided } = await ask(url, { agent, headers }).catch((error: unknown) => ({
        status: String(error),
        isDecided: false,
      }));
      const count = counts.get(merchant)!;
      if (isDecided && status === 200) count.passed += 1;
      else if (isDecided && status === 429) count.denied += 1;
      else failures.push(`${merchant}: ${status}, ${isDecided ? 'decided' : 'not decided'}`);
      await pause(PAUSE_MS);
    }
  };
  const running = Object.entries(callers).flatMap(([merchant, count]) => Array.from({ length: count }, () => call(merchant)));
  return {
    of: (merchant) => counts.get(merchant) ?? { passed: 0, denied: 0 },
    failures,
    stop: async () => {
      isStopped = true;
      await Promise.all(running);
      agent.destroy();
    },
  };
}

interface Asked {
  readonly agent: Agent;
  readonly headers: Readonly<Record<string, string>>;
}

function ask(url: string, { agent, headers }: Asked): Promise<{ readonly status: number; readonly isDecided: boolean }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { agent, headers, timeout: TIMEOUT_MS }, (response) => {
      response.resume();
      response.once('error', reject);
      response.once('end', () => {
        resolve({ status: response.statusCode ?? 0, isDecided: response.headers['x-ratelimit-limit'] !== undefined });
      });
    });
    outgoing.once('timeout', () => outgoing.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)));
    outgoing.once('error', reject);
    outgoing.end();
  });
}
