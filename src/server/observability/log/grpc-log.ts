/** Turns the messages of grpc-js into lines of Weir's log; by default it writes them to standard error in its own format. */

import { format } from 'node:util';
import { setLogger } from '@grpc/grpc-js';
import type { Logger } from './logger';
import { event } from './log-event';

/** Applies to all servers and clients of this process. */
export function takeGrpcLog(log: Pick<Logger, 'error' | 'info' | 'debug'>): void {
  const at =
    (level: 'error' | 'info' | 'debug') =>
    (...words: readonly unknown[]): void => {
      log[level](event('grpc_js'), `grpc-js: ${format(...words)}`);
    };
  setLogger({ error: at('error'), info: at('info'), debug: at('debug') });
}
