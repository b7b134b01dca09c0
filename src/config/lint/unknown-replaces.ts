/** Warns of `replaces` that names a limit which the domain does not have. */

import { didYouMean } from '../did-you-mean';
import type { FileProblems } from '../problem-list';
import type { DescriptorSpec } from '../schema';
import { show } from '../show';

/** Names that a misspelled one is compared with; of more, no guess is made. */
const GUESSED_FROM_MAX = 100;

/** A file's part of a domain. */
export interface DeclaredDomain {
  readonly descriptors: readonly DescriptorSpec[];
  readonly problems: FileProblems;
}

/** All of one domain's: a request has limits of no other. */
export function warnOfUnknownReplaces(parts: readonly DeclaredDomain[]): void {
  const names = new Set(parts.flatMap(({ descriptors }) => [...allOf(descriptors)].flatMap(namesOf)));
  const guesses = names.size > GUESSED_FROM_MAX ? [] : [...names];
  for (const { descriptors, problems } of parts) {
    for (const spec of allOf(descriptors)) {
      for (const { value, offset, path } of spec.limits.flatMap(({ replaces }) => replaces)) {
        if (names.has(value)) continue;
        const meant = didYouMean(value, guesses);
        const advice = meant === undefined ? 'name a limit, or remove it' : `did you mean ${show(meant)}?`;
        problems.warn({ rule: 'unknown-replaces', offset, path, message: `no limit of the domain has the name ${show(value)}; ${advice}` });
      }
    }
  }
}

function* allOf(descriptors: readonly DescriptorSpec[]): Generator<DescriptorSpec> {
  for (const descriptor of descriptors) {
    yield descriptor;
    yield* allOf(descriptor.descriptors);
  }
}

function namesOf({ limits }: DescriptorSpec): string[] {
  return limits.flatMap(({ name }) => (name === '' ? [] : [name]));
}
