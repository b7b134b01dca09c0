/** Weir's decision path without a port: YAML in, requests and answers as the wire has them, on a store and a clock of the test's. */

import { compileConfig, type CompileOptions } from '../../../src/configuration/compile/compile';
import { BadRequestError } from '../../../src/lib/errors';
import type { GlobalModes } from '../../../src/domain/rule/match';
import { makeShouldRateLimit } from '../../../src/should-rate-limit';
import type { DecidedRequest } from '../../../src/domain/respond/decided/decided-request';
import type { Store } from '../../../src/state/store/port/store';
import { toRequest } from '../../../src/server/transport/messages/request';
import { toWireResponse } from '../../../src/server/transport/messages/response';
import { alone } from '../../support/decisions/decide-one';
import type { Ask } from './run-conformance';
import { toAnswered, toWireRequest } from './wire';

export interface InProcessOptions {
  readonly store: Store;
  /** One file each. */
  readonly texts: readonly string[];
  readonly nowUs: () => number;
  readonly modes?: GlobalModes;
  readonly compile?: Pick<CompileOptions, 'mergeDomainConfig' | 'calendarMonth'>;
  /** Called with every decision. */
  readonly record?: (decided: DecidedRequest) => void;
  /** Long enough for a busy machine; default 10 s. */
  readonly timeoutMs?: number;
}

export function askInProcess({
  store,
  texts,
  nowUs,
  modes = { shadow: false, quota: false },
  compile = {},
  record = () => undefined,
  timeoutMs = 10_000,
}: InProcessOptions): Ask {
  const files = texts.map((text, index) => ({ name: `${index}.yaml`, text }));
  const ruleSet = compileConfig({ files, defaultAlgorithm: 'fixed_window', defaultOverdraft: true, generation: 1, ...compile });
  const decide = alone(makeShouldRateLimit({ ruleSet: () => ruleSet, store, modes, keyPrefix: '', nowUs, record }));
  return async (asked) => {
    try {
      return toAnswered(toWireResponse(await decide(toRequest(toWireRequest(asked)), { timeoutMs })));
    } catch (error) {
      if (error instanceof BadRequestError) return { error: 'INVALID_ARGUMENT', message: error.message };
      throw error;
    }
  };
}
