/** The effect of the rollout of a rule or plan. */

import type { RolloutRecord } from '../../../state/control/control-record';
import type { ExamineInput, Examined } from './selector-effect';

export function examineRollout({ record, declared }: Pick<ExamineInput<RolloutRecord>, 'record' | 'declared'>): Examined {
  const staged = declared.domain.stages?.get(record.rule);
  if (staged === undefined) {
    const message = `the configuration has no candidate under ${JSON.stringify(record.rule)}; add one, or delete the rollout`;
    return { probes: [], reason: { code: 'no_candidate', message } };
  }
  if (record.by !== undefined || staged.stage.values.by !== undefined) return { probes: [] };
  const message = 'neither the rollout nor the configuration names the key that divides the requests; set by';
  return { probes: [], reason: { code: 'no_key', message } };
}
