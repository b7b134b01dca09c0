/** The fields of `rollout`: the part of the requests that a candidate decides. */

import { defineLevel, type Field } from '../field-types/field';
import { holdS } from '../field-types/limit-types';
import { mapOf } from '../field-types/nested-types';
import { nonEmptyText, percent, percentText } from '../field-types/scalar-types';

const field = <T>(row: Field<T>): Field<T> => row;

const STOP_FIELDS = {
  deniedAbove: field({
    name: 'denied_above',
    type: percentText(),
    of: 'Weir',
    required: 'set the denied share, such as 2%',
    meaning: 'Denied share of the hits of the stage above which it ends.',
    example: '2%',
    mistakes: [{ write: 'denied_above: ~', says: 'is missing; set the denied share, such as 2%' }],
  }),
  forS: field({
    name: 'for',
    type: holdS(),
    of: 'Weir',
    required: 'set the time that is measured, such as 5m',
    meaning: 'Time over which the share is measured.',
    example: '5m',
    mistakes: [{ write: 'for: ~', says: 'is missing; set the time that is measured, such as 5m' }],
  }),
};

const inRollout = (map: string) =>
  `{ domain: d, descriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 5, candidate: { requests_per_unit: 3, rollout: ${map} } } }] }`;

export const STOP_IF = defineLevel({
  name: 'stop_if',
  title: 'stop_if',
  home: 'inside stop_if',
  meaning: 'The field `stop_if` of a rollout ([stages.md](stages.md#the-guard)).',
  fields: STOP_FIELDS,
  least: { denied_above: '2%', for: '5m' },
  inFile: (map) => inRollout(`{ by: k, percent: 10, stop_if: ${map} }`),
});

const FIELDS = {
  by: field({
    name: 'by',
    type: nonEmptyText(),
    of: 'Weir',
    required: 'name the key whose values are in the stage or not',
    meaning: 'Key of the entry whose values are in the stage or not: a key of the descriptor or of one above it.',
    example: 'k',
    mistakes: [
      { write: 'by: ~, percent: 10', says: 'is missing; name the key whose values are in the stage or not' },
      { write: 'by: other, percent: 10', says: '"other" is not a key of this descriptor; use one of k', unseen: 'compares fields' },
    ],
  }),
  percent: field({
    name: 'percent',
    type: percent(),
    of: 'Weir',
    required: 'give it a number from 0 to 100',
    meaning: 'Share of the values that the candidate decides. 0: it never denies; 100: it decides all.',
    example: '10',
    mistakes: [{ write: 'by: k, percent: ~', says: 'is missing; give it a number from 0 to 100' }],
  }),
  stopIf: field({
    name: 'stop_if',
    type: mapOf(STOP_IF),
    of: 'Weir',
    unset: 'no guard',
    meaning: 'When the stage ends by itself.',
    example: '{ denied_above: 2%, for: 5m }',
  }),
};

export const ROLLOUT = defineLevel({
  name: 'rollout',
  title: 'rollout',
  home: 'inside rollout',
  meaning: 'The field `rollout` of a candidate ([stages.md](stages.md)).',
  fields: FIELDS,
  least: { by: 'k', percent: '10' },
  inFile: inRollout,
});
