/** Compiles the rollouts of the candidates of one rule or plan into a stage that they share. */

import { toByteString } from '../../domain/descriptor/byte-string';
import type { ByteString } from '../../domain/descriptor/descriptor';
import type { Leases, Limit } from '../../domain/rule/limit';
import { makeStage, type Stage, type StageValues } from '../../domain/rule/stage/stage';
import { keepsBucket } from '../../domain/rule/stage-limits';
import { joinPath, show } from '../../lib/quote';
import type { ValuesOf } from './field-types/field';
import type { ROLLOUT } from './fields/rollout';
import type { DescriptorSpec } from './read/read-file';
import type { LimitedSpec, RateLimitSpec } from './read/read-limits';

/** The rule or plan that has the limits. */
export interface LimitOwner {
  /** As in `Stage.name`. */
  readonly name: string;
  /** The levels of a rule, from the root down; absent: a plan, which several rules may have. */
  readonly levels?: readonly DescriptorSpec[];
  /** Replaces the leases of all its limits. Absent: each has its own. */
  readonly leases?: Leases | undefined;
}

type RolloutFields = ValuesOf<typeof ROLLOUT.fields>;

/** A candidate with its limit, compiled. */
interface Compiled {
  readonly limit: Limit;
  readonly candidate: Limit;
}

const NO_VALUES: StageValues = { percent: 0 };

export class StageCompiler {
  private readonly hasRollouts: boolean;
  private made: { readonly stage: Stage; readonly text: string } | undefined;

  constructor(
    private readonly domain: ByteString,
    specs: readonly RateLimitSpec[],
    private readonly owner: LimitOwner,
  ) {
    this.hasRollouts = specs.some((spec) => rolloutOf(spec) !== undefined);
  }

  /** The stage of a candidate; undefined: others of the rule have a rollout, or it has a problem. Without a rollout anywhere in the rule it has no key yet, which a record may give. */
  of(spec: LimitedSpec, { limit, candidate }: Compiled): Stage | undefined {
    const rollout = rolloutOf(spec);
    if (rollout === undefined) return this.hasRollouts ? undefined : this.stageWith(NO_VALUES);
    const { offset, value } = rollout;
    const path = joinPath(joinPath(spec.path, 'candidate'), 'rollout');
    const values = this.valuesOf(value, { spec, offset, path });
    if (values === undefined) return undefined;
    if (this.made !== undefined && this.made.text !== JSON.stringify(values)) {
      const message = 'differs from the rollout of another limit here; all candidates of a rule move together, so write the same for each';
      spec.problems.report({ offset, path, message });
      return undefined;
    }
    if (!keepsBucket(limit, candidate)) {
      const message = `starts new buckets: the candidate has another algorithm or window, so requests of the stage count in its own bucket`;
      spec.problems.warn({ offset, path, message });
    }
    return this.stageWith(values);
  }

  private stageWith(values: StageValues): Stage {
    const { domain, owner } = this;
    this.made ??= {
      stage: makeStage({ domain, name: owner.name, values: { ...values, version: 0 }, isConfigured: true }),
      text: JSON.stringify(values),
    };
    return this.made.stage;
  }

  /** Undefined: it has a problem, which is reported. */
  private valuesOf({ by, percent, stopIf }: RolloutFields, { spec, offset, path }: RolloutPlace): StageValues | undefined {
    const report = (at: number, field: string, message: string) => {
      spec.problems.report({ offset: at, path: joinPath(path, field), message });
    };
    const { by: ofBy, percent: ofPercent } = { by: by?.value, percent: percent?.value };
    if (ofBy === undefined || ofPercent === undefined) return undefined;
    const key = by?.offset ?? offset;
    const { levels } = this.owner;
    const level = levels?.findLast((each) => each.key === ofBy);
    if (levels !== undefined && level === undefined) {
      const keys = levels.map((each) => each.key).join(', ');
      report(key, 'by', `${show(ofBy)} is not a key of this descriptor; use one of ${keys}`);
      return undefined;
    }
    if (level?.shareThreshold === true) {
      report(key, 'by', `${show(ofBy)} has share_threshold, so its values share a bucket, which cannot be on both sides; name another key`);
      return undefined;
    }
    if (level !== undefined && level.value !== '' && !level.value.includes('*') && level.network === undefined) {
      report(key, 'by', `${show(ofBy)} has a single value here, so the stage would have all requests or none; name a key with many values`);
      return undefined;
    }
    const { deniedAbove, forS } = stopIf?.value ?? {};
    const guard = deniedAbove && forS && { stopIf: { deniedAbove: deniedAbove.value, forS: forS.value } };
    return { by: toByteString(ofBy), percent: ofPercent, ...guard };
  }
}

interface RolloutPlace {
  readonly spec: LimitedSpec;
  readonly offset: number;
  readonly path: string;
}

function rolloutOf(spec: RateLimitSpec) {
  return spec.kind === 'limited' ? spec.fields.candidate?.value.rollout : undefined;
}
