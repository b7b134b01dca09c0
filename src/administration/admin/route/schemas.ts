/** JSON schemas that several routes share. */

import { FormatRegistry, Type, type TSchema } from '@sinclair/typebox';
import { RECORD_BOUNDS } from '../../../state/control/control-record';
import { DESCRIPTORS_MAX, ENTRIES_MAX } from '../../../domain/descriptor/descriptor-bounds';
import { UNIT_NAMES, type UnitName } from '../../../domain/descriptor/unit';
import { LIMIT_MAX, UINT32_MAX } from '../../../domain/rule/limit';

const RFC_3339 =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

FormatRegistry.Set('date-time', (text) => RFC_3339.test(text) && !Number.isNaN(Date.parse(text)));

/** An object without unknown fields. */
export function object<Properties extends Record<string, TSchema>>(properties: Properties, description?: string) {
  return Type.Object(properties, { additionalProperties: false, ...(description !== undefined && { description }) });
}

export const domain = Type.String({ minLength: 1, maxLength: RECORD_BOUNDS.domainBytes, description: 'A domain of the configuration.' });

export const time = Type.String({
  format: 'date-time',
  maxLength: 40,
  description: 'A time as in RFC 3339, such as 2026-11-23T12:00:00Z.',
});

export const reason = Type.String({ maxLength: RECORD_BOUNDS.reasonBytes, description: 'Why; for the audit log.' });

export const unit = Type.Union(
  UNIT_NAMES.map((name) => Type.Literal(name)),
  { description: 'The unit of the window.' },
) as unknown as ReturnType<typeof Type.Unsafe<UnitName>>;

export const limitValues = object(
  {
    name: Type.Optional(
      Type.String({ maxLength: RECORD_BOUNDS.limitNameBytes, description: 'The name of the limit to replace. Absent: the only one.' }),
    ),
    requests_per_unit: Type.Integer({ minimum: 0, maximum: LIMIT_MAX }),
    unit,
    unit_multiplier: Type.Optional(Type.Integer({ minimum: 1, maximum: UINT32_MAX })),
    burst: Type.Optional(Type.Integer({ minimum: 0, maximum: LIMIT_MAX, description: 'Absent: the burst that the rule has.' })),
  },
  'Values of a limit.',
);

/** As the field `show` of a limit. */
export const amountForm = object(
  { unit: Type.String(), divide: Type.Integer({ minimum: 1 }) },
  'How people read the hits: divided by `divide`, in `unit`. Absent: as hits.',
);

/** How much a limit admits, as replies show it. */
export const shownValues = {
  name: Type.String({ description: 'Empty: it has no name.' }),
  requests_per_unit: Type.Integer({ minimum: 0 }),
  unit: Type.String(),
  unit_multiplier: Type.Integer({ minimum: 1 }),
  show: Type.Optional(amountForm),
};

/** A limit of the configuration, as replies show it. */
export const shownLimit = object({ ...shownValues, algorithm: Type.String(), capacity: Type.Integer({ minimum: 0 }) });

/** Entries that select descriptors. */
export const selector = Type.Array(
  object({
    key: Type.String({ minLength: 1, maxLength: RECORD_BOUNDS.keyBytes }),
    value: Type.Optional(Type.String({ maxLength: RECORD_BOUNDS.valueBytes, description: 'Absent: any value.' })),
  }),
  {
    minItems: 1,
    maxItems: RECORD_BOUNDS.entries,
    description: 'A descriptor is selected if it contains all of these entries, in any order.',
  },
);

const TEXT_MAX = 4_096;

/** The entries of a descriptor of a request. */
export const entries = Type.Array(object({ key: Type.String({ maxLength: TEXT_MAX }), value: Type.String({ maxLength: TEXT_MAX }) }), {
  minItems: 1,
  maxItems: ENTRIES_MAX,
  description: 'The entries of a descriptor, in the order of the request.',
});

export const descriptors = Type.Array(object({ entries }), { minItems: 1, maxItems: DESCRIPTORS_MAX });

/** The part of a query that selects a page. */
export const page = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1000, description: 'Most items of the page; at most ADMIN_PAGE_MAX, which is the default.' }),
  ),
  cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 1024, description: '`next` of the previous page.' })),
};

/** The field of a reply that continues a list. */
export const next = Type.Optional(
  Type.String({ description: 'The `cursor` of the next page. Absent: this page is the last. A page may be short, or empty, before that.' }),
);

export const dryRun = Type.Optional(Type.Boolean({ default: false, description: 'Only show what would change.' }));

/** Tenants may be put on a plan before the configuration that brings it, so that none has its default plan in between. */
export const ahead = Type.Optional(
  Type.Boolean({ default: false, description: 'Accept a domain and a plan that the configuration in force does not have yet.' }),
);

/** A field that every reply to a write has. */
export const wasDryRun = Type.Boolean({ description: 'Whether nothing was changed, because `dry_run` was true.' });
