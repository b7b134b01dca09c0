/** Warns of `replaces` that names a limit which the domain does not have. */

import { IN_FLIGHT_NAME } from '../../rule/in-flight';
import { didYouMean } from '../did-you-mean';
import type { ReplacedName } from '../limit-schema';
import type { FileProblems } from '../problem-list';
import type { DescriptorSpec } from '../schema';
import { show } from '../show';

/** Names that a misspelled one is compared with; of more, no guess is made. */
const GUESSED_FROM_MAX = 100;

interface NamesOfDomain {
  readonly names: Set<string>;
  readonly uses: { readonly replaced: ReplacedName; readonly problems: FileProblems }[];
}

/** Gathered over all files: a request has limits of one domain, whichever files that is in. */
export class ReplacedNames {
  private readonly domains = new Map<string, NamesOfDomain>();

  add(domain: string, { limits, inFlight, problems }: DescriptorSpec): void {
    if (limits.length === 0 && inFlight === undefined) return;
    const known = this.domains.get(domain) ?? { names: new Set(), uses: [] };
    this.domains.set(domain, known);
    if (inFlight !== undefined) known.names.add(inFlight.name === '' ? IN_FLIGHT_NAME : inFlight.name);
    for (const { name, replaces } of limits) {
      if (name !== '') known.names.add(name);
      for (const replaced of replaces) known.uses.push({ replaced, problems });
    }
  }

  /** To be called once, when all is added. */
  warn(): void {
    for (const { names, uses } of this.domains.values()) {
      const guesses = names.size > GUESSED_FROM_MAX ? [] : [...names];
      for (const { replaced, problems } of uses) {
        const { value, offset, path } = replaced;
        if (names.has(value)) continue;
        const meant = didYouMean(value, guesses);
        const advice = meant === undefined ? 'name a limit, or remove it' : `did you mean ${show(meant)}?`;
        problems.warn({ rule: 'unknown-replaces', offset, path, message: `no limit of the domain has the name ${show(value)}; ${advice}` });
      }
    }
  }
}
