/** Reads the fields of one YAML map, each as the type that the field wants, the way the reference's parser does. */

import { TEXT_BYTES_MAX } from '../descriptor/bounds';
import { UINT32_MAX } from '../rule/limit';
import { isNull, type ConfigNode, type ListNode, type MapNode } from './config-node';
import { didYouMean } from './did-you-mean';
import { checkKeys, keysOf, type LevelName } from './known-keys';
import type { FileProblems } from './problem-list';
import { BOOLEANS, LEADING_ZERO, withoutUnderscores } from './scalars';
import { joinPath, show } from './show';

/** A value and where it stands, for problems that are only found later. */
export interface Located<T> {
  readonly value: T;
  readonly offset: number;
}

const INTEGER = /^\+?(0x[\da-f]+|0o[0-7]+|0b[01]+|0|[1-9]\d*)$/i;

const SHARE = /^(?:0?\.\d{1,9}|1(?:\.0{1,9})?)$/;

export class MapReader {
  private constructor(
    private readonly node: MapNode,
    private readonly path: string,
    private readonly problems: FileProblems,
  ) {}

  /** A reader of a map of that level, its keys checked; undefined, and a problem, if the node is no map. */
  static open(
    node: ConfigNode,
    { level, path, problems }: { level: LevelName; path: string; problems: FileProblems },
  ): MapReader | undefined {
    if (node.kind !== 'map') {
      problems.report({ offset: node.offset, path, message: `must be a map of the keys ${keysOf(level).join(', ')}` });
      return undefined;
    }
    checkKeys(node, { level, path, problems });
    return new MapReader(node, path, problems);
  }

  get offset(): number {
    return this.node.offset;
  }

  /** Any scalar's source text: `1234`, `true` and `on` are text here. */
  text(key: string): Located<string> | undefined {
    const node = this.get(key);
    if (node === undefined) return undefined;
    if (node.kind !== 'scalar') return this.refuse(node, key, `must be text, not a ${node.kind}`);
    if (Buffer.byteLength(node.text) > TEXT_BYTES_MAX) {
      return this.refuse(node, key, `must not be longer than ${TEXT_BYTES_MAX} bytes; no request can be`);
    }
    return { value: node.text, offset: node.offset };
  }

  /** Text that must be there and not be empty. */
  requiredText(key: string): Located<string> | undefined {
    const node = this.get(key);
    if (node === undefined) {
      this.reportMissing(key, 'give it some text');
      return undefined;
    }
    return this.optionalText(key);
  }

  /** Text that may be left out, but not be empty. */
  optionalText(key: string): Located<string> | undefined {
    const node = this.get(key);
    const text = this.text(key);
    if (node !== undefined && text?.value === '') return this.refuse(node, key, 'must not be empty');
    return text;
  }

  flag(key: string): Located<boolean> | undefined {
    const node = this.get(key);
    if (node === undefined) return undefined;
    const value = node.kind === 'scalar' && node.plain ? BOOLEANS.get(node.text) : undefined;
    if (value !== undefined) return { value, offset: node.offset };
    return this.refuse(node, key, `${describe(node)} is no boolean; use true or false, unquoted`);
  }

  uint32(key: string): Located<number> | undefined {
    const node = this.get(key);
    if (node === undefined) return undefined;
    const digits = node.kind === 'scalar' && node.plain ? withoutUnderscores(node.text) : '';
    if (LEADING_ZERO.test(digits)) {
      return this.refuse(node, key, `${describe(node)} could be octal or decimal; write it without the leading zero`);
    }
    const value = INTEGER.test(digits) ? Number(digits.replace('+', '')) : NaN;
    // NaN is not in the range either.
    if (value <= UINT32_MAX) return { value, offset: node.offset };
    return this.refuse(node, key, `${describe(node)} must be a whole number from 0 to ${UINT32_MAX}, unquoted`);
  }

  /** A part of a whole: over 0, at most 1. */
  share(key: string): Located<number> | undefined {
    const node = this.get(key);
    if (node === undefined) return undefined;
    const text = node.kind === 'scalar' && node.plain ? node.text : '';
    const value = SHARE.test(text) ? Number(text) : NaN;
    // NaN is not in the range either.
    if (value > 0 && value <= 1) return { value, offset: node.offset };
    return this.refuse(node, key, `${describe(node)} must be a number over 0 and at most 1, such as 0.5, unquoted`);
  }

  /** One of the names, in any case; `what` it is goes into the problem: "is no unit". */
  choice<Name extends string>(
    key: string,
    { names, what }: { names: readonly Name[]; what: string },
  ): Located<Name> | undefined {
    const node = this.get(key);
    if (node === undefined) return undefined;
    const text = node.kind === 'scalar' ? node.text : '';
    const value = names.find((name) => name === text.toLowerCase());
    if (value !== undefined) return { value, offset: node.offset };
    const meant = didYouMean(text, names);
    const guess = meant === undefined ? '' : `did you mean ${meant}? `;
    return this.refuse(node, key, `${describe(node)} is no ${what}; ${guess}use one of ${names.join(', ')}`);
  }

  list(key: string): ListNode | undefined {
    const node = this.get(key);
    if (node === undefined || node.kind === 'list') return node;
    this.refuse(node, key, `must be a list, not a ${node.kind}`);
    return undefined;
  }

  /** The node of a field that has a reader of its own. */
  child(key: string): ConfigNode | undefined {
    return this.get(key);
  }

  reportMissing(key: string, whatToDo: string): void {
    this.problems.report({ offset: this.offset, path: joinPath(this.path, key), message: `is missing; ${whatToDo}` });
  }

  private get(key: string): ConfigNode | undefined {
    const node = this.node.fields.get(key)?.value;
    return node === undefined || isNull(node) ? undefined : node;
  }

  /** Reports the value; what it returns is the field as read: absent. */
  private refuse(node: ConfigNode, key: string, message: string): Located<never> | undefined {
    this.problems.report({ offset: node.offset, path: joinPath(this.path, key), message });
    return undefined;
  }
}

function describe(node: ConfigNode): string {
  return node.kind === 'scalar' ? show(node.text) : `a ${node.kind}`;
}
