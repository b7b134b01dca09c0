/** The change of control data with which a guard takes a rollout back. */

import type { ControlData } from '../control/control-data';
import { OVERRIDE_ROLLOUT } from '../control/control-record';
import type { PutChange } from '../control/control-store';
import type { Breach } from './rollout-watch';

/** The author of rollouts that guards took back. */
export const GUARD_AUTHOR = 'guard';

/**
 * It requires the version that was measured, so that of all processes one writes it, and an operator who was first wins. Undefined: the
 * override is gone.
 */
export function stoppedBy({ domain, rule, stage, values }: Breach, data: Pick<ControlData, 'get'>, reason: string): PutChange | undefined {
  const { version } = values;
  const stopped = { percent: 0, stopped: true as const };
  if (stage.isConfigured) {
    const known = data.get({ kind: 'rollout', domain, name: rule });
    const { by, stopIf } = known?.record.kind === 'rollout' ? known.record : {};
    const own = { ...(by !== undefined && { by }), ...(stopIf && { stopIf }) };
    return { put: { kind: 'rollout', domain, rule, reason, ...stopped, ...own }, expect: version === 0 ? 'absent' : version };
  }
  const stored = data.get({ kind: 'override', domain, name: rule.slice(OVERRIDE_ROLLOUT.length) });
  if (stored?.record.kind !== 'override' || stored.version !== version) return undefined;
  const { createdAtMs, rollout, ...record } = stored.record;
  return { put: { ...record, rollout: { ...rollout, ...stopped }, reason }, expect: version };
}
