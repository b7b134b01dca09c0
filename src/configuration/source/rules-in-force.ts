/** The rules in force: sources offer whole sets, and the last good one decides. */

import type { RuleSet } from '../../domain/rule/rule-set';
import { UnavailableError } from '../../lib/errors';
import type { ConfigDocument } from '../yaml/config-document';
import { ConfigError, type ConfigProblem } from '../problems/config-error';

/** The whole configuration at one time. Plain data, so it can be sent to another process. */
export interface ConfigSet {
  /** In load order. */
  readonly documents: readonly ConfigDocument[];
  /** Problems of getting the set. With any, the set is rejected, with these and the problems of its documents. */
  readonly problems?: readonly ConfigProblem[];
}

/** A source of sets, for the code that starts and ends it. */
export interface SetSource {
  /** Offers the current set, and resolves when it is in force or rejected. */
  load(): Promise<void>;
  /** Starts to offer every later set. */
  watch(): void;
  /** Offers the current set again, changed or not. */
  reload(): void;
  close(): void;
}

/** The outcome of offering a set. */
export type LoadOutcome =
  /** It is in force. */
  | { readonly ruleSet: RuleSet }
  /** It is rejected, with every problem; the previous set stays in force. */
  | { readonly error: ConfigError };

export interface RulesInForceOptions {
  /** Rejects with ConfigError, and nothing else, for an invalid set. */
  readonly compile: (set: ConfigSet, generation: number) => Promise<RuleSet>;
}

export class RulesInForce {
  private lastGood: { readonly ruleSet: RuleSet; readonly set: ConfigSet } | undefined;
  private lastError: ConfigError | undefined;
  private accepted = 0;
  private refused = 0;
  private readonly listeners: ((outcome: LoadOutcome) => void)[] = [];
  /** Resolves when every set offered so far has its outcome. */
  private queue: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: RulesInForceOptions) {}

  /** The last good set; undefined before the first. */
  get ruleSet(): RuleSet | undefined {
    return this.lastGood?.ruleSet;
  }

  /** @throws UnavailableError before the first good set */
  get ruleSetNow(): RuleSet {
    const { ruleSet } = this;
    if (ruleSet === undefined) throw new UnavailableError('no configuration is loaded yet; see the log of the rate limit service');
    return ruleSet;
  }

  /** The set it was compiled from. */
  get set(): ConfigSet | undefined {
    return this.lastGood?.set;
  }

  /** Why the last set offered was rejected; undefined if it is in force. */
  get error(): ConfigError | undefined {
    return this.lastError;
  }

  /** Numbers of accepted and of rejected sets. */
  get counts(): { readonly accepted: number; readonly refused: number } {
    return { accepted: this.accepted, refused: this.refused };
  }

  /**
   * A set replaces everything before it, or is rejected whole. Sets are processed one at a time, in the order of the offers, and
   * each gets its own outcome. Never rejects because of a set.
   *
   * `generation`: number of a set that another process has numbered; default: the next number.
   */
  offer(set: ConfigSet, { generation }: { readonly generation?: number } = {}): Promise<LoadOutcome> {
    const loading = this.queue.then(() => this.load(set, generation ?? (this.ruleSet?.generation ?? 0) + 1));
    this.queue = loading.catch(() => undefined);
    return loading;
  }

  /** Records a set that another process has rejected, after all earlier offers. */
  refuse(error: ConfigError): void {
    const concluding = this.queue.then(() => {
      this.conclude({ documents: [] }, { error });
    });
    // As for offered sets, an error in a listener does not stop later ones.
    this.queue = concluding.catch(() => undefined);
  }

  /** Called for each later set, when it is in force or rejected. */
  onLoad(listener: (outcome: LoadOutcome) => void): void {
    this.listeners.push(listener);
  }

  private async load(set: ConfigSet, generation: number): Promise<LoadOutcome> {
    const outcome = await this.compile(set, generation);
    this.conclude(set, outcome);
    return outcome;
  }

  private conclude(set: ConfigSet, outcome: LoadOutcome): void {
    if ('ruleSet' in outcome) {
      this.lastGood = { ...outcome, set };
      this.lastError = undefined;
      this.accepted += 1;
    } else {
      this.lastError = outcome.error;
      this.refused += 1;
    }
    for (const listener of this.listeners) listener(outcome);
  }

  private async compile(set: ConfigSet, generation: number): Promise<LoadOutcome> {
    try {
      return { ruleSet: await this.options.compile(set, generation) };
    } catch (error) {
      if (error instanceof ConfigError) return { error };
      throw error;
    }
  }
}
