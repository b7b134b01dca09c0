/** Opens the penalties of one process: they count in its store, and block by control data. */

import type { Registry } from 'prom-client';
import type { BlockRecord } from '../../../state/control/control-record';
import type { ControlService } from '../../../state/control/control-service';
import { CHANGES_MAX } from '../../../state/control/control-store';
import { monotonicNowMs, monotonicNowUs } from '../../../lib/clock';
import { asError } from '../../../lib/errors';
import { event } from '../../../server/observability/log/log-event';
import type { Logger } from '../../../server/observability/log/logger';
import { ThrottledLog } from '../../../server/observability/log/throttled-log';
import { makePenaltyMetrics } from '../../../server/observability/metrics/metrics';
import { Penalties, type PenaltyBlock } from '../../../state/penalty/penalties';
import { PENALTY_AUTHOR, penaltyRecord } from '../../../state/penalty/penalty-record';
import type { Settings } from '../../../configuration/settings/table/settings';
import type { Store } from '../../../state/store/port/store';
import { US_PER_MS } from '../../../lib/time-units';

interface RecordedBlock {
  readonly block: PenaltyBlock;
  readonly record: BlockRecord;
}

export interface OpenPenaltiesInput {
  readonly settings: Pick<Settings, 'cacheKeyPrefix'>;
  readonly store: Store;
  readonly service: Pick<ControlService, 'write'>;
  readonly registry: Registry;
  readonly log: Logger;
}

export function openPenalties({ settings, store, service, registry, log }: OpenPenaltiesInput): Penalties {
  const { blocks: blocksMade, dropped } = makePenaltyMetrics(registry);
  const errors = new ThrottledLog<{ readonly error: string }>({
    write: (sentence, fields) => {
      log.warn(event('penalty_failed', fields), sentence);
    },
    nowMs: monotonicNowMs,
  });
  const onError = (error: unknown): void => {
    const { message } = asError(error);
    errors.log('penalty', () => `penalties cannot count denials or block: ${message}`, { error: message });
  };
  const write = async (blocks: readonly RecordedBlock[]): Promise<void> => {
    const audit = { author: PENALTY_AUTHOR, action: 'put', reason: 'penalty' };
    const outcome = await service.write({ changes: blocks.map(({ record }) => ({ put: record })), audit, trail: 'penalties' });
    if (outcome.kind !== 'written')
      throw new Error(outcome.kind === 'full' ? `there are ${outcome.max} blocks; delete some` : outcome.kind);
    blocksMade.inc(blocks.length);
  };
  /** One write for all; if it is refused, one for each. Blocks that are not written are tried again at their next denial. */
  const block = async (reached: readonly PenaltyBlock[]): Promise<readonly PenaltyBlock[]> => {
    const nowMs = Math.floor(monotonicNowUs() / US_PER_MS);
    const recorded = reached.slice(0, CHANGES_MAX).flatMap((each) => {
      const record = penaltyRecord(each, nowMs);
      return record === undefined ? [] : [{ block: each, record }];
    });
    const written: PenaltyBlock[] = [];
    for (const blocks of [recorded, ...recorded.map((each) => [each])]) {
      if (blocks.length === 0 || written.length === recorded.length) break;
      try {
        await write(blocks);
        written.push(...blocks.map((each) => each.block));
      } catch (error) {
        onError(error);
      }
    }
    return written;
  };
  return new Penalties({
    store,
    keyPrefix: settings.cacheKeyPrefix,
    block,
    onDropped: (denials) => {
      dropped.inc(denials);
    },
    onError,
  });
}
