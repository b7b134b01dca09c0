/** Reads the parts of a test file, and reports each that has the wrong form with its line. */

import { didYouMean } from '../../../../lib/text/did-you-mean';
import { isNull, type ConfigNode, type MapNode } from '../../../../configuration/yaml/config-node';
import type { FileProblems } from '../../../../configuration/problems/problem-list';
import { printable } from './printable';
import { readDurationUs, readInstantUs } from './virtual-time';

/** Texts are YAML's own: 007 and true stay as written. */
const NO_TEXT = 'must be a text';

export type Fields = ReadonlyMap<string, ConfigNode>;

export class NodeReader {
  constructor(private readonly problems: FileProblems) {}

  /** Null counts as absent. */
  map(node: ConfigNode, { path, known }: { readonly path: string; readonly known: readonly string[] }): Fields {
    if (node.kind !== 'map') {
      this.report(node, path, `must be a map of ${known.join(', ')}`);
      return new Map();
    }
    this.refuseUnknown(node, { path, known });
    return new Map([...node.fields].filter(([, { value }]) => !isNull(value)).map(([name, { value }]) => [name, value]));
  }

  list(node: ConfigNode | undefined, path: string): readonly ConfigNode[] {
    if (node === undefined) return [];
    if (node.kind === 'list') return [...node.items];
    this.report(node, path, 'must be a list');
    return [];
  }

  text(node: ConfigNode, path: string): string {
    if (node.kind === 'scalar' && !isNull(node)) return node.text;
    this.report(node, path, node.kind === 'scalar' ? `${NO_TEXT}; write "" for an empty one` : NO_TEXT);
    return '';
  }

  /** One of a few words; undefined: the node is absent, or none of them. */
  word<Word extends string>(node: ConfigNode | undefined, path: string, words: readonly Word[]): Word | undefined {
    if (node === undefined) return undefined;
    const word = words.find((each) => node.kind === 'scalar' && node.text === each);
    if (word === undefined) this.report(node, path, `must be ${words.slice(0, -1).join(', ')} or ${words.at(-1)}`);
    return word;
  }

  flag(node: ConfigNode | undefined, path: string): boolean | undefined {
    if (node === undefined) return undefined;
    if (node.kind === 'scalar' && node.plain && /^(?:true|false)$/.test(node.text)) return node.text === 'true';
    this.report(node, path, 'must be true or false');
    return undefined;
  }

  whole(node: ConfigNode | undefined, path: string, { min, max }: { readonly min: number; readonly max: number }): number | undefined {
    if (node === undefined) return undefined;
    if (node.kind === 'scalar' && node.plain && /^(?:0|-?[1-9]\d{0,15})$/.test(node.text)) {
      const number = Number(node.text);
      if (number >= min && number <= max) return number;
    }
    this.report(node, path, `must be a whole number from ${min} to ${max}`);
    return undefined;
  }

  duration(node: ConfigNode | undefined, path: string): number | undefined {
    if (node === undefined) return undefined;
    const us = readDurationUs(this.text(node, path));
    if (us === undefined) this.report(node, path, 'must be a duration such as 100ms, 60s, 1m30s or 2d');
    return us;
  }

  instant(node: ConfigNode | undefined, path: string): number | undefined {
    if (node === undefined) return undefined;
    const us = readInstantUs(this.text(node, path));
    if (us === undefined) this.report(node, path, 'must be an instant with a zone, such as 2026-11-23T23:59:50Z');
    return us;
  }

  lineOf({ offset }: ConfigNode): number {
    return this.problems.lineAt(offset);
  }

  /** The path may have keys of the file. */
  report({ offset }: ConfigNode, path: string, message: string): void {
    this.problems.report({ offset, path: printable(path), message });
  }

  private refuseUnknown({ fields }: MapNode, { path, known }: { readonly path: string; readonly known: readonly string[] }): void {
    for (const [name, { keyOffset }] of fields) {
      if (known.includes(name)) continue;
      const meant = didYouMean(name, known);
      const advice = meant === undefined ? `use ${known.join(', ')}` : `did you mean ${meant}?`;
      const at = printable(path === '' ? name : `${path}.${name}`);
      this.problems.report({ offset: keyOffset, path: at, message: `is not a field here; ${advice}` });
    }
  }
}
