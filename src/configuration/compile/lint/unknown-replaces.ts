/** Warns of `replaces` with a name that no limit of the domain has. */

import { IN_FLIGHT_NAME } from '../../../domain/rule/in-flight';
import { didYouMean } from '../../../lib/text/did-you-mean';
import type { ReplacedName } from '../read/read-limits';
import type { FileProblems } from '../../problems/problem-list';
import type { DescriptorSpec } from '../read/read-file';
import { show } from '../../../lib/quote';

/** Most names to compare a misspelled one with; beyond it Weir suggests none. */
const GUESSED_FROM_MAX = 100;

interface NamesOfDomain {
  readonly names: Set<string>;
  readonly uses: { readonly replaced: ReplacedName; readonly problems: FileProblems }[];
}

/** Collected over all files, because a domain may be in several. */
export class ReplacedNames {
  private readonly domains = new Map<string, NamesOfDomain>();

  add(domain: string, { limits, inFlight, problems }: Pick<DescriptorSpec, 'limits' | 'inFlight' | 'problems'>): void {
    if (limits.length === 0 && inFlight === undefined) return;
    const known = this.domains.get(domain) ?? { names: new Set(), uses: [] };
    this.domains.set(domain, known);
    if (inFlight !== undefined) known.names.add(inFlight.name === '' ? IN_FLIGHT_NAME : inFlight.name);
    for (const { name, replaces } of limits) {
      if (name !== '') known.names.add(name);
      for (const replaced of replaces) known.uses.push({ replaced, problems });
    }
  }

  /** Called once, after all files. Yields after each name. */
  *warn(): Generator<undefined, void> {
    for (const { names, uses } of this.domains.values()) {
      const guesses = names.size > GUESSED_FROM_MAX ? [] : [...names];
      for (const { replaced, problems } of uses) {
        const { value, offset, path } = replaced;
        yield;
        if (names.has(value)) continue;
        const meant = didYouMean(value, guesses);
        const advice = meant === undefined ? 'name a limit, or remove it' : `did you mean ${show(meant)}?`;
        problems.warn({ rule: 'unknown-replaces', offset, path, message: `no limit of the domain has the name ${show(value)}; ${advice}` });
      }
    }
  }
}
