/** The JSON of effects: what a record changes, and the warnings of a write that has no effect, or only a part of it. */

import { Type } from '@sinclair/typebox';
import { TERM_KINDS, type TermChange } from '../../effect/outcome';
import { CHANGES_MAX, EFFECT_STATES, type EffectInput, type RecordEffect } from '../../effect/record-effect';
import { WARNINGS, type Warning, type WarningCode } from '../../effect/warning';
import type { AdminBackend } from '../../backend';
import { AdminProblem } from '../../problem';
import { object } from '../../route/schemas';
import { snakeKeys } from '../../route/snake-keys';

const CODES = Object.keys(WARNINGS) as WarningCode[];

export const warnings = Type.Array(
  object({
    code: Type.Union(CODES.map((code) => Type.Literal(code))),
    effect: Type.Union([Type.Literal('none'), Type.Literal('partial')], {
      description: 'none: it has no effect; partial: only a part of it has.',
    }),
    message: Type.String({ description: 'Says what is so, and what to do.' }),
  }),
  { description: 'Why it has no effect, or only a part of it. Empty: it has its whole effect.' },
);

const terms = object({
  kind: Type.Union(TERM_KINDS.map((kind) => Type.Literal(kind))),
  name: Type.Optional(Type.String({ description: 'Empty: the limit has no name.' })),
  requests_per_unit: Type.Optional(Type.Integer({ minimum: 0 })),
  unit: Type.Optional(Type.String()),
  unit_multiplier: Type.Optional(Type.Integer({ minimum: 1 })),
});

export const changes = Type.Array(
  object({
    rule: Type.String({ description: 'The path of the rule, joined with dots.' }),
    plan: Type.Optional(Type.String({ description: 'Only for tenants with this plan.' })),
    from: terms,
    to: terms,
  }),
  { description: `The changes for descriptors that a rule matches; at most ${CHANGES_MAX}.` },
);

export const effectFields = { changes, changes_omitted: Type.Integer({ minimum: 0, description: 'Further changes.' }) };

export const effectState = Type.Union(
  EFFECT_STATES.map((state) => Type.Literal(state)),
  { description: 'in_force: it has its whole effect; partial: a part of it; none: no effect. `warnings` says why.' },
);

export const strict = Type.Optional(
  Type.Boolean({ default: false, description: 'Refuse a write that has warnings: 409 `without-effect`, and nothing is written.' }),
);

export function showChanges({ changes: all, omitted }: Pick<RecordEffect, 'changes' | 'omitted'>) {
  return { changes: all.map((change: TermChange) => snakeKeys(change)), changes_omitted: omitted };
}

export function effectInputOf({ rules, controlView }: AdminBackend): EffectInput {
  return { rules: rules.current(), modes: rules.modes, control: controlView };
}

/** @throws AdminProblem for a strict write with warnings */
export function refuseIfStrict(found: readonly Warning[], isStrict: boolean | undefined): void {
  if (isStrict !== true || found.length === 0) return;
  const messages = found.map(({ message }) => message).join('; ');
  throw new AdminProblem('without-effect', `nothing was written, because of strict=true: ${messages}`, { warnings: found });
}
