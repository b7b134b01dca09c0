/** Reads the fields of one YAML map by the table of its level. */

import { isNull, type ConfigNode, type MapNode } from '../../yaml/config-node';
import type { FieldReader, Fields, Level, Located, ValuesOf } from '../field-types/field';
import { kindOf } from '../field-types/scalar-types';
import { checkKeys } from './known-keys';
import type { FileProblems } from '../../problems/problem-list';
import { joinPath } from '../../../lib/quote';

interface Place<F extends Fields> {
  readonly level: Level<F>;
  readonly path: string;
  readonly problems: FileProblems;
}

export class MapReader<F extends Fields> implements FieldReader {
  readonly path: string;
  readonly problems: FileProblems;
  /** The fields that are usable. */
  readonly values: ValuesOf<F>;

  private constructor(
    private readonly node: MapNode,
    { level, path, problems }: Place<F>,
  ) {
    this.path = path;
    this.problems = problems;
    this.values = this.readFields(level);
  }

  /** Checks the keys of the map, and reads its fields. Reports a problem and returns undefined if the node is not a map. */
  static open<F extends Fields>(node: ConfigNode, place: Place<F>): MapReader<F> | undefined {
    const { level, path, problems } = place;
    if (node.kind === 'map') {
      checkKeys(node, place);
      return new MapReader(node, place);
    }
    problems.report({ offset: node.offset, path, message: `is ${kindOf(node)}; it must be a map of the keys ${level.keys.join(', ')}` });
    return undefined;
  }

  get offset(): number {
    return this.node.offset;
  }

  readMap<Inner extends Fields>(node: ConfigNode, { level, path }: Omit<Place<Inner>, 'problems'>): ValuesOf<Inner> | undefined {
    return MapReader.open(node, { level, path, problems: this.problems })?.values;
  }

  child(name: string): ConfigNode | undefined {
    const node = this.node.fields.get(name)?.value;
    return node === undefined || isNull(node) ? undefined : node;
  }

  refuse(node: ConfigNode, name: string, message: string): void {
    this.problems.report({ offset: node.offset, path: joinPath(this.path, name), message });
  }

  reportMissing(name: string, whatToDo: string): void {
    this.problems.report({ offset: this.offset, path: joinPath(this.path, name), message: `is missing; ${whatToDo}` });
  }

  private readFields({ entries }: Level<F>): ValuesOf<F> {
    const values: Record<string, Located<unknown>> = {};
    for (const [property, { name, type, required }] of entries) {
      const node = this.child(name);
      if (node !== undefined) {
        const value = type.read(node, this, name);
        if (value !== undefined) values[property] = { value, offset: node.offset };
      } else if (required !== undefined) {
        this.reportMissing(name, required);
      }
    }
    return values as ValuesOf<F>;
  }
}
