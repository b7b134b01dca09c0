/** What grpc-js says by itself, as lines of our log: it would write them to standard error in its own form. */

import { format } from 'node:util';
import { setLogger } from '@grpc/grpc-js';
import type { Logger } from './logger';

/** For all servers and clients of this process. */
export function takeGrpcLog(log: Pick<Logger, 'error' | 'info' | 'debug'>): void {
  const at = (level: 'error' | 'info' | 'debug') => (...words: readonly unknown[]): void => {
    log[level](`grpc-js: ${format(...words)}`);
  };
  setLogger({ error: at('error'), info: at('info'), debug: at('debug') });
}
