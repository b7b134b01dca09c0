/** Reports descriptors that one level has twice, with both places. */

import { ProblemList, type FileProblems, type PlacedInFile } from '../problems/problem-list';
import { readDescriptors, type DescriptorList, type DescriptorSpec } from './read/read-file';
import { networkText } from '../../lib/address';
import { show } from '../../lib/quote';

/** Duplicates are rare, so no places are stored: when a level has one, its lists are read again. */
export class RepeatedDescriptors {
  /** The lists of the level, in load order: several if several files configure the domain. */
  private readonly lists: DescriptorList[] = [];
  private patterns: Set<string> | undefined;
  private firsts: Map<string, PlacedInFile> | undefined;
  private listsRead = 0;

  /** Announces the list of the next descriptors. */
  readNext(list: DescriptorList): void {
    this.lists.push(list);
  }

  /** Whether the level already has such a pattern. Must be called once for each. */
  isKnownPattern(spec: DescriptorSpec): boolean {
    const identity = identityOf(spec);
    this.patterns ??= new Set();
    if (this.patterns.has(identity)) return true;
    this.patterns.add(identity);
    return false;
  }

  /** Yields after each descriptor that it reads again. */
  *report(spec: DescriptorSpec): Generator<undefined, void> {
    yield* this.readFirsts();
    const first = this.firsts?.get(identityOf(spec));
    if (first === undefined) return;
    const what = spec.value === '' ? `key ${show(spec.key)}` : `key ${show(spec.key)} with value ${show(spec.value)}`;
    const { problems } = spec;
    const places = `${problems.placeOf(first)} and ${problems.placeOf(spec)}`;
    const message = `${what} is configured twice here: ${places}; ${first.problems === problems ? 'merge them' : 'put both into one file, as one'}`;
    problems.report({ offset: spec.offset, path: spec.path, message });
  }

  private *readFirsts(): Generator<undefined, void> {
    for (const { problems, ...list } of this.lists.slice(this.listsRead)) {
      // Its problems are reported when it is compiled.
      const discarded = problems.reportingTo(new ProblemList({ max: 0 }));
      for (const { spec } of readDescriptors({ ...list, problems: discarded })) {
        if (spec !== undefined) this.add(spec, problems);
        yield;
      }
      this.listsRead += 1;
    }
  }

  private add(spec: DescriptorSpec, problems: FileProblems): void {
    const identity = identityOf(spec);
    this.firsts ??= new Map();
    if (!this.firsts.has(identity)) this.firsts.set(identity, { offset: spec.offset, path: spec.path, problems });
  }
}

/** The length distinguishes a_b with c from a with b_c. A range may be spelled in several ways, and is not a value of the same text. */
function identityOf({ key, value, network }: DescriptorSpec): string {
  return network === undefined ? `${key.length}:${key}${value}` : `${key.length}:${key} in ${networkText(network)}`;
}
