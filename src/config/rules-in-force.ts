/** The rules in force: whole sets come in from wherever they are kept, and the last good one decides. */

import type { RuleSet } from '../rule/rule-set';
import type { ConfigDocument } from './config-document';
import { ConfigError, type ConfigProblem } from './config-error';

/** All that is configured at one time. Plain data: it can be sent to another process. */
export interface ConfigSet {
  /** In load order. */
  readonly documents: readonly ConfigDocument[];
  /** What could not be got at all; a set with any is refused, with these and what is wrong with its documents. */
  readonly problems?: readonly ConfigProblem[];
}

/** Where sets come from, as whoever starts and ends it sees it. */
export interface SetSource {
  /** Offers what there is now, and resolves when that is in force or refused. */
  load(): Promise<void>;
  /** From now on offers whatever comes. */
  watch(): void;
  /** Offers all anew, changed or not: somebody wants to see what becomes of it. */
  reload(): void;
  close(): void;
}

/** What became of a set. */
export type LoadOutcome =
  /** It is in force. */
  | { readonly ruleSet: RuleSet }
  /** It is refused, with everything that is wrong with it; what was in force before still is. */
  | { readonly error: ConfigError };

export interface RulesInForceOptions {
  /** Rejects with ConfigError, and nothing else, for a set that makes no rules. */
  readonly compile: (set: ConfigSet, generation: number) => Promise<RuleSet>;
}

export class RulesInForce {
  private lastGood: { readonly ruleSet: RuleSet; readonly set: ConfigSet } | undefined;
  private lastError: ConfigError | undefined;
  private accepted = 0;
  private refused = 0;
  private readonly listeners: ((outcome: LoadOutcome) => void)[] = [];
  /** Ends when all that was offered until now is decided. */
  private queue: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: RulesInForceOptions) {}

  /** The last good set; undefined until there was one. */
  get ruleSet(): RuleSet | undefined {
    return this.lastGood?.ruleSet;
  }

  /** What it was made of. */
  get set(): ConfigSet | undefined {
    return this.lastGood?.set;
  }

  /** Why the last set that was offered is not in force; undefined if it is. */
  get error(): ConfigError | undefined {
    return this.lastError;
  }

  /** How many sets were taken, and how many were not. */
  get counts(): { readonly accepted: number; readonly refused: number } {
    return { accepted: this.accepted, refused: this.refused };
  }

  /**
   * A set takes the place of all that was before it, or is refused whole. Sets are taken up one after the other, in the
   * order in which they are offered; each gets its own answer. It does not reject for any set.
   *
   * `generation`: of a set that somebody else has numbered; default: one more than that in force.
   */
  offer(set: ConfigSet, { generation }: { readonly generation?: number } = {}): Promise<LoadOutcome> {
    const loading = this.queue.then(() => this.load(set, generation ?? (this.ruleSet?.generation ?? 0) + 1));
    this.queue = loading.catch(() => undefined);
    return loading;
  }

  /** A set that somebody else has refused, after all that was offered before it. */
  refuse(error: ConfigError): void {
    const settling = this.queue.then(() => {
      this.settle({ documents: [] }, { error });
    });
    // As with a set that is offered: those after it have their turn whatever a listener does.
    this.queue = settling.catch(() => undefined);
  }

  /** Told of each set from now on, when it is in force or refused. */
  onLoad(listener: (outcome: LoadOutcome) => void): void {
    this.listeners.push(listener);
  }

  private async load(set: ConfigSet, generation: number): Promise<LoadOutcome> {
    const outcome = await this.compile(set, generation);
    this.settle(set, outcome);
    return outcome;
  }

  private settle(set: ConfigSet, outcome: LoadOutcome): void {
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
