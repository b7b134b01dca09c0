/** The operations of the admin API: method, path, and the types of input and reply. Generated from the routes; do not edit. */

export interface Operations {
  readonly restoreControl: {
    readonly query: {
      readonly dry_run?: boolean;
    };
    readonly body: {
      readonly reason?: string;
    };
    readonly reply: {
      readonly dry_run: boolean;
      readonly restored: number;
    };
  };
  readonly discardLostControl: {
    readonly body: {
      readonly reason?: string;
    };
    readonly reply: {
      readonly discarded: boolean;
    };
  };
  readonly listTenants: {
    readonly query: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly domain?: string;
    };
    readonly reply: {
      readonly items: readonly {
        readonly domain: string;
        readonly tenant: string;
        readonly plan: string;
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
        readonly version: number;
      }[];
      readonly next?: string;
    };
  };
  readonly getTenant: {
    readonly params: {
      readonly domain: string;
      readonly tenant: string;
    };
    readonly reply: {
      readonly domain: string;
      readonly tenant: string;
      readonly plan: string;
      readonly until?: string;
      readonly reason?: string;
      readonly author?: string;
      readonly created_at?: string;
      readonly version: number;
    };
  };
  readonly putTenant: {
    readonly params: {
      readonly domain: string;
      readonly tenant: string;
    };
    readonly query: {
      readonly dry_run?: boolean;
      readonly strict?: boolean;
      readonly ahead?: boolean;
    };
    readonly body: {
      readonly plan: string;
      readonly until?: string;
      readonly reason?: string;
    };
    readonly reply: {
      readonly dry_run: boolean;
      readonly changed: boolean;
      readonly version?: number;
      readonly before?: {
        readonly domain: string;
        readonly tenant: string;
        readonly plan: string;
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
        readonly version: number;
      };
      readonly after?: {
        readonly domain: string;
        readonly tenant: string;
        readonly plan: string;
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
      };
      readonly changes: readonly {
        readonly rule: string;
        readonly plan?: string;
        readonly from: {
          readonly kind: 'limit' | 'candidate' | 'unlimited' | 'denied' | 'none';
          readonly name?: string;
          readonly requests_per_unit?: number;
          readonly unit?: string;
          readonly unit_multiplier?: number;
        };
        readonly to: {
          readonly kind: 'limit' | 'candidate' | 'unlimited' | 'denied' | 'none';
          readonly name?: string;
          readonly requests_per_unit?: number;
          readonly unit?: string;
          readonly unit_multiplier?: number;
        };
      }[];
      readonly changes_omitted: number;
      readonly warnings: readonly {
        readonly code:
          | 'unknown_domain'
          | 'unknown_key'
          | 'no_rule'
          | 'nothing_to_replace'
          | 'needs_name'
          | 'unknown_limit'
          | 'unknown_place'
          | 'impossible_values'
          | 'shared_window'
          | 'hidden_by_block'
          | 'hidden_by_pass'
          | 'hidden_by_override'
          | 'has_limits_of_its_own'
          | 'no_tenants'
          | 'unknown_plan'
          | 'no_change'
          | 'shadow_mode'
          | 'no_such_record'
          | 'bucket_full';
        readonly effect: 'none' | 'partial';
        readonly message: string;
      }[];
    };
  };
  readonly deleteTenant: {
    readonly params: {
      readonly domain: string;
      readonly tenant: string;
    };
    readonly query: {
      readonly dry_run?: boolean;
      readonly strict?: boolean;
      readonly reason?: string;
    };
    readonly reply: {
      readonly dry_run: boolean;
      readonly changed: boolean;
      readonly version?: number;
      readonly before?: {
        readonly domain: string;
        readonly tenant: string;
        readonly plan: string;
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
        readonly version: number;
      };
      readonly after?: {
        readonly domain: string;
        readonly tenant: string;
        readonly plan: string;
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
      };
      readonly changes: readonly {
        readonly rule: string;
        readonly plan?: string;
        readonly from: {
          readonly kind: 'limit' | 'candidate' | 'unlimited' | 'denied' | 'none';
          readonly name?: string;
          readonly requests_per_unit?: number;
          readonly unit?: string;
          readonly unit_multiplier?: number;
        };
        readonly to: {
          readonly kind: 'limit' | 'candidate' | 'unlimited' | 'denied' | 'none';
          readonly name?: string;
          readonly requests_per_unit?: number;
          readonly unit?: string;
          readonly unit_multiplier?: number;
        };
      }[];
      readonly changes_omitted: number;
      readonly warnings: readonly {
        readonly code:
          | 'unknown_domain'
          | 'unknown_key'
          | 'no_rule'
          | 'nothing_to_replace'
          | 'needs_name'
          | 'unknown_limit'
          | 'unknown_place'
          | 'impossible_values'
          | 'shared_window'
          | 'hidden_by_block'
          | 'hidden_by_pass'
          | 'hidden_by_override'
          | 'has_limits_of_its_own'
          | 'no_tenants'
          | 'unknown_plan'
          | 'no_change'
          | 'shadow_mode'
          | 'no_such_record'
          | 'bucket_full';
        readonly effect: 'none' | 'partial';
        readonly message: string;
      }[];
    };
  };
  readonly importTenants: {
    readonly params: {
      readonly domain: string;
    };
    readonly query: {
      readonly dry_run?: boolean;
      readonly strict?: boolean;
      readonly ahead?: boolean;
    };
    readonly body: {
      readonly items: readonly {
        readonly tenant: string;
        readonly plan: string;
        readonly until?: string;
      }[];
      readonly source?: string;
      readonly reason?: string;
    };
    readonly reply: {
      readonly dry_run: boolean;
      readonly written: number;
      readonly same: number;
      readonly version?: number;
      readonly refused: readonly {
        readonly index: number;
        readonly problem: string;
      }[];
      readonly without_effect: readonly {
        readonly index: number;
        readonly warnings: readonly {
          readonly code:
            | 'unknown_domain'
            | 'unknown_key'
            | 'no_rule'
            | 'nothing_to_replace'
            | 'needs_name'
            | 'unknown_limit'
            | 'unknown_place'
            | 'impossible_values'
            | 'shared_window'
            | 'hidden_by_block'
            | 'hidden_by_pass'
            | 'hidden_by_override'
            | 'has_limits_of_its_own'
            | 'no_tenants'
            | 'unknown_plan'
            | 'no_change'
            | 'shadow_mode'
            | 'no_such_record'
            | 'bucket_full';
          readonly effect: 'none' | 'partial';
          readonly message: string;
        }[];
      }[];
    };
  };
  readonly listPlans: {
    readonly query: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly domain?: string;
    };
    readonly reply: {
      readonly items: readonly {
        readonly domain: string;
        readonly plan: string;
        readonly limits: readonly {
          readonly name?: string;
          readonly requests_per_unit: number;
          readonly unit: 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year';
          readonly unit_multiplier?: number;
          readonly burst?: number;
        }[];
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
        readonly version: number;
      }[];
      readonly next?: string;
    };
  };
  readonly getPlan: {
    readonly params: {
      readonly domain: string;
      readonly plan: string;
    };
    readonly reply: {
      readonly domain: string;
      readonly plan: string;
      readonly limits: readonly {
        readonly name?: string;
        readonly requests_per_unit: number;
        readonly unit: 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year';
        readonly unit_multiplier?: number;
        readonly burst?: number;
      }[];
      readonly until?: string;
      readonly reason?: string;
      readonly author?: string;
      readonly created_at?: string;
      readonly version: number;
    };
  };
  readonly putPlan: {
    readonly params: {
      readonly domain: string;
      readonly plan: string;
    };
    readonly query: {
      readonly dry_run?: boolean;
      readonly strict?: boolean;
      readonly ahead?: boolean;
    };
    readonly body: {
      readonly limits: readonly {
        readonly name?: string;
        readonly requests_per_unit: number;
        readonly unit: 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year';
        readonly unit_multiplier?: number;
        readonly burst?: number;
      }[];
      readonly until?: string;
      readonly reason?: string;
    };
    readonly reply: {
      readonly dry_run: boolean;
      readonly changed: boolean;
      readonly version?: number;
      readonly before?: {
        readonly domain: string;
        readonly plan: string;
        readonly limits: readonly {
          readonly name?: string;
          readonly requests_per_unit: number;
          readonly unit: 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year';
          readonly unit_multiplier?: number;
          readonly burst?: number;
        }[];
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
        readonly version: number;
      };
      readonly after?: {
        readonly domain: string;
        readonly plan: string;
        readonly limits: readonly {
          readonly name?: string;
          readonly requests_per_unit: number;
          readonly unit: 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year';
          readonly unit_multiplier?: number;
          readonly burst?: number;
        }[];
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
      };
      readonly changes: readonly {
        readonly rule: string;
        readonly plan?: string;
        readonly from: {
          readonly kind: 'limit' | 'candidate' | 'unlimited' | 'denied' | 'none';
          readonly name?: string;
          readonly requests_per_unit?: number;
          readonly unit?: string;
          readonly unit_multiplier?: number;
        };
        readonly to: {
          readonly kind: 'limit' | 'candidate' | 'unlimited' | 'denied' | 'none';
          readonly name?: string;
          readonly requests_per_unit?: number;
          readonly unit?: string;
          readonly unit_multiplier?: number;
        };
      }[];
      readonly changes_omitted: number;
      readonly warnings: readonly {
        readonly code:
          | 'unknown_domain'
          | 'unknown_key'
          | 'no_rule'
          | 'nothing_to_replace'
          | 'needs_name'
          | 'unknown_limit'
          | 'unknown_place'
          | 'impossible_values'
          | 'shared_window'
          | 'hidden_by_block'
          | 'hidden_by_pass'
          | 'hidden_by_override'
          | 'has_limits_of_its_own'
          | 'no_tenants'
          | 'unknown_plan'
          | 'no_change'
          | 'shadow_mode'
          | 'no_such_record'
          | 'bucket_full';
        readonly effect: 'none' | 'partial';
        readonly message: string;
      }[];
    };
  };
  readonly deletePlan: {
    readonly params: {
      readonly domain: string;
      readonly plan: string;
    };
    readonly query: {
      readonly dry_run?: boolean;
      readonly strict?: boolean;
      readonly reason?: string;
    };
    readonly reply: {
      readonly dry_run: boolean;
      readonly changed: boolean;
      readonly version?: number;
      readonly before?: {
        readonly domain: string;
        readonly plan: string;
        readonly limits: readonly {
          readonly name?: string;
          readonly requests_per_unit: number;
          readonly unit: 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year';
          readonly unit_multiplier?: number;
          readonly burst?: number;
        }[];
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
        readonly version: number;
      };
      readonly after?: {
        readonly domain: string;
        readonly plan: string;
        readonly limits: readonly {
          readonly name?: string;
          readonly requests_per_unit: number;
          readonly unit: 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year';
          readonly unit_multiplier?: number;
          readonly burst?: number;
        }[];
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
      };
      readonly changes: readonly {
        readonly rule: string;
        readonly plan?: string;
        readonly from: {
          readonly kind: 'limit' | 'candidate' | 'unlimited' | 'denied' | 'none';
          readonly name?: string;
          readonly requests_per_unit?: number;
          readonly unit?: string;
          readonly unit_multiplier?: number;
        };
        readonly to: {
          readonly kind: 'limit' | 'candidate' | 'unlimited' | 'denied' | 'none';
          readonly name?: string;
          readonly requests_per_unit?: number;
          readonly unit?: string;
          readonly unit_multiplier?: number;
        };
      }[];
      readonly changes_omitted: number;
      readonly warnings: readonly {
        readonly code:
          | 'unknown_domain'
          | 'unknown_key'
          | 'no_rule'
          | 'nothing_to_replace'
          | 'needs_name'
          | 'unknown_limit'
          | 'unknown_place'
          | 'impossible_values'
          | 'shared_window'
          | 'hidden_by_block'
          | 'hidden_by_pass'
          | 'hidden_by_override'
          | 'has_limits_of_its_own'
          | 'no_tenants'
          | 'unknown_plan'
          | 'no_change'
          | 'shadow_mode'
          | 'no_such_record'
          | 'bucket_full';
        readonly effect: 'none' | 'partial';
        readonly message: string;
      }[];
    };
  };
  readonly listOverrides: {
    readonly query: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly domain?: string;
    };
    readonly reply: {
      readonly items: readonly {
        readonly domain: string;
        readonly id: string;
        readonly entries: readonly {
          readonly key: string;
          readonly value?: string;
        }[];
        readonly limit: {
          readonly name?: string;
          readonly requests_per_unit: number;
          readonly unit: 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year';
          readonly unit_multiplier?: number;
          readonly burst?: number;
        };
        readonly candidate?: boolean;
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
        readonly version: number;
      }[];
      readonly next?: string;
    };
  };
  readonly getOverride: {
    readonly params: {
      readonly domain: string;
      readonly id: string;
    };
    readonly reply: {
      readonly domain: string;
      readonly id: string;
      readonly entries: readonly {
        readonly key: string;
        readonly value?: string;
      }[];
      readonly limit: {
        readonly name?: string;
        readonly requests_per_unit: number;
        readonly unit: 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year';
        readonly unit_multiplier?: number;
        readonly burst?: number;
      };
      readonly candidate?: boolean;
      readonly until?: string;
      readonly reason?: string;
      readonly author?: string;
      readonly created_at?: string;
      readonly version: number;
    };
  };
  readonly putOverride: {
    readonly params: {
      readonly domain: string;
      readonly id: string;
    };
    readonly query: {
      readonly dry_run?: boolean;
      readonly strict?: boolean;
    };
    readonly body: {
      readonly entries: readonly {
        readonly key: string;
        readonly value?: string;
      }[];
      readonly limit: {
        readonly name?: string;
        readonly requests_per_unit: number;
        readonly unit: 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year';
        readonly unit_multiplier?: number;
        readonly burst?: number;
      };
      readonly candidate?: boolean;
      readonly until?: string;
      readonly reason?: string;
    };
    readonly reply: {
      readonly dry_run: boolean;
      readonly changed: boolean;
      readonly version?: number;
      readonly before?: {
        readonly domain: string;
        readonly id: string;
        readonly entries: readonly {
          readonly key: string;
          readonly value?: string;
        }[];
        readonly limit: {
          readonly name?: string;
          readonly requests_per_unit: number;
          readonly unit: 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year';
          readonly unit_multiplier?: number;
          readonly burst?: number;
        };
        readonly candidate?: boolean;
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
        readonly version: number;
      };
      readonly after?: {
        readonly domain: string;
        readonly id: string;
        readonly entries: readonly {
          readonly key: string;
          readonly value?: string;
        }[];
        readonly limit: {
          readonly name?: string;
          readonly requests_per_unit: number;
          readonly unit: 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year';
          readonly unit_multiplier?: number;
          readonly burst?: number;
        };
        readonly candidate?: boolean;
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
      };
      readonly changes: readonly {
        readonly rule: string;
        readonly plan?: string;
        readonly from: {
          readonly kind: 'limit' | 'candidate' | 'unlimited' | 'denied' | 'none';
          readonly name?: string;
          readonly requests_per_unit?: number;
          readonly unit?: string;
          readonly unit_multiplier?: number;
        };
        readonly to: {
          readonly kind: 'limit' | 'candidate' | 'unlimited' | 'denied' | 'none';
          readonly name?: string;
          readonly requests_per_unit?: number;
          readonly unit?: string;
          readonly unit_multiplier?: number;
        };
      }[];
      readonly changes_omitted: number;
      readonly warnings: readonly {
        readonly code:
          | 'unknown_domain'
          | 'unknown_key'
          | 'no_rule'
          | 'nothing_to_replace'
          | 'needs_name'
          | 'unknown_limit'
          | 'unknown_place'
          | 'impossible_values'
          | 'shared_window'
          | 'hidden_by_block'
          | 'hidden_by_pass'
          | 'hidden_by_override'
          | 'has_limits_of_its_own'
          | 'no_tenants'
          | 'unknown_plan'
          | 'no_change'
          | 'shadow_mode'
          | 'no_such_record'
          | 'bucket_full';
        readonly effect: 'none' | 'partial';
        readonly message: string;
      }[];
    };
  };
  readonly deleteOverride: {
    readonly params: {
      readonly domain: string;
      readonly id: string;
    };
    readonly query: {
      readonly dry_run?: boolean;
      readonly strict?: boolean;
      readonly reason?: string;
    };
    readonly reply: {
      readonly dry_run: boolean;
      readonly changed: boolean;
      readonly version?: number;
      readonly before?: {
        readonly domain: string;
        readonly id: string;
        readonly entries: readonly {
          readonly key: string;
          readonly value?: string;
        }[];
        readonly limit: {
          readonly name?: string;
          readonly requests_per_unit: number;
          readonly unit: 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year';
          readonly unit_multiplier?: number;
          readonly burst?: number;
        };
        readonly candidate?: boolean;
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
        readonly version: number;
      };
      readonly after?: {
        readonly domain: string;
        readonly id: string;
        readonly entries: readonly {
          readonly key: string;
          readonly value?: string;
        }[];
        readonly limit: {
          readonly name?: string;
          readonly requests_per_unit: number;
          readonly unit: 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year';
          readonly unit_multiplier?: number;
          readonly burst?: number;
        };
        readonly candidate?: boolean;
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
      };
      readonly changes: readonly {
        readonly rule: string;
        readonly plan?: string;
        readonly from: {
          readonly kind: 'limit' | 'candidate' | 'unlimited' | 'denied' | 'none';
          readonly name?: string;
          readonly requests_per_unit?: number;
          readonly unit?: string;
          readonly unit_multiplier?: number;
        };
        readonly to: {
          readonly kind: 'limit' | 'candidate' | 'unlimited' | 'denied' | 'none';
          readonly name?: string;
          readonly requests_per_unit?: number;
          readonly unit?: string;
          readonly unit_multiplier?: number;
        };
      }[];
      readonly changes_omitted: number;
      readonly warnings: readonly {
        readonly code:
          | 'unknown_domain'
          | 'unknown_key'
          | 'no_rule'
          | 'nothing_to_replace'
          | 'needs_name'
          | 'unknown_limit'
          | 'unknown_place'
          | 'impossible_values'
          | 'shared_window'
          | 'hidden_by_block'
          | 'hidden_by_pass'
          | 'hidden_by_override'
          | 'has_limits_of_its_own'
          | 'no_tenants'
          | 'unknown_plan'
          | 'no_change'
          | 'shadow_mode'
          | 'no_such_record'
          | 'bucket_full';
        readonly effect: 'none' | 'partial';
        readonly message: string;
      }[];
    };
  };
  readonly promoteOverride: {
    readonly params: {
      readonly domain: string;
      readonly id: string;
    };
    readonly query: {
      readonly dry_run?: boolean;
      readonly strict?: boolean;
    };
    readonly body: {
      readonly reason?: string;
    };
    readonly reply: {
      readonly dry_run: boolean;
      readonly changed: boolean;
      readonly version?: number;
      readonly before?: {
        readonly domain: string;
        readonly id: string;
        readonly entries: readonly {
          readonly key: string;
          readonly value?: string;
        }[];
        readonly limit: {
          readonly name?: string;
          readonly requests_per_unit: number;
          readonly unit: 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year';
          readonly unit_multiplier?: number;
          readonly burst?: number;
        };
        readonly candidate?: boolean;
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
        readonly version: number;
      };
      readonly after?: {
        readonly domain: string;
        readonly id: string;
        readonly entries: readonly {
          readonly key: string;
          readonly value?: string;
        }[];
        readonly limit: {
          readonly name?: string;
          readonly requests_per_unit: number;
          readonly unit: 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year';
          readonly unit_multiplier?: number;
          readonly burst?: number;
        };
        readonly candidate?: boolean;
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
      };
      readonly changes: readonly {
        readonly rule: string;
        readonly plan?: string;
        readonly from: {
          readonly kind: 'limit' | 'candidate' | 'unlimited' | 'denied' | 'none';
          readonly name?: string;
          readonly requests_per_unit?: number;
          readonly unit?: string;
          readonly unit_multiplier?: number;
        };
        readonly to: {
          readonly kind: 'limit' | 'candidate' | 'unlimited' | 'denied' | 'none';
          readonly name?: string;
          readonly requests_per_unit?: number;
          readonly unit?: string;
          readonly unit_multiplier?: number;
        };
      }[];
      readonly changes_omitted: number;
      readonly warnings: readonly {
        readonly code:
          | 'unknown_domain'
          | 'unknown_key'
          | 'no_rule'
          | 'nothing_to_replace'
          | 'needs_name'
          | 'unknown_limit'
          | 'unknown_place'
          | 'impossible_values'
          | 'shared_window'
          | 'hidden_by_block'
          | 'hidden_by_pass'
          | 'hidden_by_override'
          | 'has_limits_of_its_own'
          | 'no_tenants'
          | 'unknown_plan'
          | 'no_change'
          | 'shadow_mode'
          | 'no_such_record'
          | 'bucket_full';
        readonly effect: 'none' | 'partial';
        readonly message: string;
      }[];
    };
  };
  readonly listBlocks: {
    readonly query: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly domain?: string;
    };
    readonly reply: {
      readonly items: readonly {
        readonly domain: string;
        readonly id: string;
        readonly entries: readonly {
          readonly key: string;
          readonly value?: string;
        }[];
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
        readonly version: number;
      }[];
      readonly next?: string;
    };
  };
  readonly getBlock: {
    readonly params: {
      readonly domain: string;
      readonly id: string;
    };
    readonly reply: {
      readonly domain: string;
      readonly id: string;
      readonly entries: readonly {
        readonly key: string;
        readonly value?: string;
      }[];
      readonly until?: string;
      readonly reason?: string;
      readonly author?: string;
      readonly created_at?: string;
      readonly version: number;
    };
  };
  readonly putBlock: {
    readonly params: {
      readonly domain: string;
      readonly id: string;
    };
    readonly query: {
      readonly dry_run?: boolean;
      readonly strict?: boolean;
    };
    readonly body: {
      readonly entries: readonly {
        readonly key: string;
        readonly value?: string;
      }[];
      readonly until?: string;
      readonly reason?: string;
    };
    readonly reply: {
      readonly dry_run: boolean;
      readonly changed: boolean;
      readonly version?: number;
      readonly before?: {
        readonly domain: string;
        readonly id: string;
        readonly entries: readonly {
          readonly key: string;
          readonly value?: string;
        }[];
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
        readonly version: number;
      };
      readonly after?: {
        readonly domain: string;
        readonly id: string;
        readonly entries: readonly {
          readonly key: string;
          readonly value?: string;
        }[];
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
      };
      readonly changes: readonly {
        readonly rule: string;
        readonly plan?: string;
        readonly from: {
          readonly kind: 'limit' | 'candidate' | 'unlimited' | 'denied' | 'none';
          readonly name?: string;
          readonly requests_per_unit?: number;
          readonly unit?: string;
          readonly unit_multiplier?: number;
        };
        readonly to: {
          readonly kind: 'limit' | 'candidate' | 'unlimited' | 'denied' | 'none';
          readonly name?: string;
          readonly requests_per_unit?: number;
          readonly unit?: string;
          readonly unit_multiplier?: number;
        };
      }[];
      readonly changes_omitted: number;
      readonly warnings: readonly {
        readonly code:
          | 'unknown_domain'
          | 'unknown_key'
          | 'no_rule'
          | 'nothing_to_replace'
          | 'needs_name'
          | 'unknown_limit'
          | 'unknown_place'
          | 'impossible_values'
          | 'shared_window'
          | 'hidden_by_block'
          | 'hidden_by_pass'
          | 'hidden_by_override'
          | 'has_limits_of_its_own'
          | 'no_tenants'
          | 'unknown_plan'
          | 'no_change'
          | 'shadow_mode'
          | 'no_such_record'
          | 'bucket_full';
        readonly effect: 'none' | 'partial';
        readonly message: string;
      }[];
    };
  };
  readonly deleteBlock: {
    readonly params: {
      readonly domain: string;
      readonly id: string;
    };
    readonly query: {
      readonly dry_run?: boolean;
      readonly strict?: boolean;
      readonly reason?: string;
    };
    readonly reply: {
      readonly dry_run: boolean;
      readonly changed: boolean;
      readonly version?: number;
      readonly before?: {
        readonly domain: string;
        readonly id: string;
        readonly entries: readonly {
          readonly key: string;
          readonly value?: string;
        }[];
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
        readonly version: number;
      };
      readonly after?: {
        readonly domain: string;
        readonly id: string;
        readonly entries: readonly {
          readonly key: string;
          readonly value?: string;
        }[];
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
      };
      readonly changes: readonly {
        readonly rule: string;
        readonly plan?: string;
        readonly from: {
          readonly kind: 'limit' | 'candidate' | 'unlimited' | 'denied' | 'none';
          readonly name?: string;
          readonly requests_per_unit?: number;
          readonly unit?: string;
          readonly unit_multiplier?: number;
        };
        readonly to: {
          readonly kind: 'limit' | 'candidate' | 'unlimited' | 'denied' | 'none';
          readonly name?: string;
          readonly requests_per_unit?: number;
          readonly unit?: string;
          readonly unit_multiplier?: number;
        };
      }[];
      readonly changes_omitted: number;
      readonly warnings: readonly {
        readonly code:
          | 'unknown_domain'
          | 'unknown_key'
          | 'no_rule'
          | 'nothing_to_replace'
          | 'needs_name'
          | 'unknown_limit'
          | 'unknown_place'
          | 'impossible_values'
          | 'shared_window'
          | 'hidden_by_block'
          | 'hidden_by_pass'
          | 'hidden_by_override'
          | 'has_limits_of_its_own'
          | 'no_tenants'
          | 'unknown_plan'
          | 'no_change'
          | 'shadow_mode'
          | 'no_such_record'
          | 'bucket_full';
        readonly effect: 'none' | 'partial';
        readonly message: string;
      }[];
    };
  };
  readonly listPasses: {
    readonly query: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly domain?: string;
    };
    readonly reply: {
      readonly items: readonly {
        readonly domain: string;
        readonly id: string;
        readonly entries: readonly {
          readonly key: string;
          readonly value?: string;
        }[];
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
        readonly version: number;
      }[];
      readonly next?: string;
    };
  };
  readonly getPass: {
    readonly params: {
      readonly domain: string;
      readonly id: string;
    };
    readonly reply: {
      readonly domain: string;
      readonly id: string;
      readonly entries: readonly {
        readonly key: string;
        readonly value?: string;
      }[];
      readonly until?: string;
      readonly reason?: string;
      readonly author?: string;
      readonly created_at?: string;
      readonly version: number;
    };
  };
  readonly putPass: {
    readonly params: {
      readonly domain: string;
      readonly id: string;
    };
    readonly query: {
      readonly dry_run?: boolean;
      readonly strict?: boolean;
    };
    readonly body: {
      readonly entries: readonly {
        readonly key: string;
        readonly value?: string;
      }[];
      readonly until?: string;
      readonly reason?: string;
    };
    readonly reply: {
      readonly dry_run: boolean;
      readonly changed: boolean;
      readonly version?: number;
      readonly before?: {
        readonly domain: string;
        readonly id: string;
        readonly entries: readonly {
          readonly key: string;
          readonly value?: string;
        }[];
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
        readonly version: number;
      };
      readonly after?: {
        readonly domain: string;
        readonly id: string;
        readonly entries: readonly {
          readonly key: string;
          readonly value?: string;
        }[];
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
      };
      readonly changes: readonly {
        readonly rule: string;
        readonly plan?: string;
        readonly from: {
          readonly kind: 'limit' | 'candidate' | 'unlimited' | 'denied' | 'none';
          readonly name?: string;
          readonly requests_per_unit?: number;
          readonly unit?: string;
          readonly unit_multiplier?: number;
        };
        readonly to: {
          readonly kind: 'limit' | 'candidate' | 'unlimited' | 'denied' | 'none';
          readonly name?: string;
          readonly requests_per_unit?: number;
          readonly unit?: string;
          readonly unit_multiplier?: number;
        };
      }[];
      readonly changes_omitted: number;
      readonly warnings: readonly {
        readonly code:
          | 'unknown_domain'
          | 'unknown_key'
          | 'no_rule'
          | 'nothing_to_replace'
          | 'needs_name'
          | 'unknown_limit'
          | 'unknown_place'
          | 'impossible_values'
          | 'shared_window'
          | 'hidden_by_block'
          | 'hidden_by_pass'
          | 'hidden_by_override'
          | 'has_limits_of_its_own'
          | 'no_tenants'
          | 'unknown_plan'
          | 'no_change'
          | 'shadow_mode'
          | 'no_such_record'
          | 'bucket_full';
        readonly effect: 'none' | 'partial';
        readonly message: string;
      }[];
    };
  };
  readonly deletePass: {
    readonly params: {
      readonly domain: string;
      readonly id: string;
    };
    readonly query: {
      readonly dry_run?: boolean;
      readonly strict?: boolean;
      readonly reason?: string;
    };
    readonly reply: {
      readonly dry_run: boolean;
      readonly changed: boolean;
      readonly version?: number;
      readonly before?: {
        readonly domain: string;
        readonly id: string;
        readonly entries: readonly {
          readonly key: string;
          readonly value?: string;
        }[];
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
        readonly version: number;
      };
      readonly after?: {
        readonly domain: string;
        readonly id: string;
        readonly entries: readonly {
          readonly key: string;
          readonly value?: string;
        }[];
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
      };
      readonly changes: readonly {
        readonly rule: string;
        readonly plan?: string;
        readonly from: {
          readonly kind: 'limit' | 'candidate' | 'unlimited' | 'denied' | 'none';
          readonly name?: string;
          readonly requests_per_unit?: number;
          readonly unit?: string;
          readonly unit_multiplier?: number;
        };
        readonly to: {
          readonly kind: 'limit' | 'candidate' | 'unlimited' | 'denied' | 'none';
          readonly name?: string;
          readonly requests_per_unit?: number;
          readonly unit?: string;
          readonly unit_multiplier?: number;
        };
      }[];
      readonly changes_omitted: number;
      readonly warnings: readonly {
        readonly code:
          | 'unknown_domain'
          | 'unknown_key'
          | 'no_rule'
          | 'nothing_to_replace'
          | 'needs_name'
          | 'unknown_limit'
          | 'unknown_place'
          | 'impossible_values'
          | 'shared_window'
          | 'hidden_by_block'
          | 'hidden_by_pass'
          | 'hidden_by_override'
          | 'has_limits_of_its_own'
          | 'no_tenants'
          | 'unknown_plan'
          | 'no_change'
          | 'shadow_mode'
          | 'no_such_record'
          | 'bucket_full';
        readonly effect: 'none' | 'partial';
        readonly message: string;
      }[];
    };
  };
  readonly listPlansInForce: {
    readonly query: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly domain?: string;
      readonly plan?: string;
    };
    readonly reply: {
      readonly items: readonly {
        readonly domain: string;
        readonly plan: string;
        readonly configured: boolean;
        readonly file?: string;
        readonly line?: number;
        readonly unlimited: boolean;
        readonly limits: readonly {
          readonly name: string;
          readonly requests_per_unit: number;
          readonly unit: string;
          readonly unit_multiplier: number;
          readonly algorithm: string;
          readonly capacity: number;
        }[];
        readonly values?: {
          readonly domain: string;
          readonly plan: string;
          readonly limits: readonly {
            readonly name?: string;
            readonly requests_per_unit: number;
            readonly unit: 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year';
            readonly unit_multiplier?: number;
            readonly burst?: number;
          }[];
          readonly until?: string;
          readonly reason?: string;
          readonly author?: string;
          readonly created_at?: string;
          readonly version: number;
        };
        readonly effect?: 'in_force' | 'partial' | 'none';
        readonly warnings: readonly {
          readonly code:
            | 'unknown_domain'
            | 'unknown_key'
            | 'no_rule'
            | 'nothing_to_replace'
            | 'needs_name'
            | 'unknown_limit'
            | 'unknown_place'
            | 'impossible_values'
            | 'shared_window'
            | 'hidden_by_block'
            | 'hidden_by_pass'
            | 'hidden_by_override'
            | 'has_limits_of_its_own'
            | 'no_tenants'
            | 'unknown_plan'
            | 'no_change'
            | 'shadow_mode'
            | 'no_such_record'
            | 'bucket_full';
          readonly effect: 'none' | 'partial';
          readonly message: string;
        }[];
      }[];
      readonly next?: string;
    };
  };
  readonly listExceptions: {
    readonly query: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly order?: 'ends' | 'newest';
      readonly text?: string;
      readonly kind?: 'override' | 'candidate' | 'block' | 'penalty' | 'pass' | 'plan' | 'tenant';
      readonly domain?: string;
      readonly author?: string;
      readonly state?: 'in_force' | 'partial' | 'none';
    };
    readonly reply: {
      readonly items: readonly {
        readonly kind: 'override' | 'candidate' | 'block' | 'penalty' | 'pass' | 'plan' | 'tenant';
        readonly domain: string;
        readonly name: string;
        readonly plan?: string;
        readonly limits?: readonly {
          readonly name?: string;
          readonly requests_per_unit: number;
          readonly unit: 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year';
          readonly unit_multiplier?: number;
          readonly burst?: number;
        }[];
        readonly entries?: readonly {
          readonly key: string;
          readonly value?: string;
        }[];
        readonly limit?: {
          readonly name?: string;
          readonly requests_per_unit: number;
          readonly unit: 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year';
          readonly unit_multiplier?: number;
          readonly burst?: number;
        };
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
        readonly version: number;
        readonly effect: 'in_force' | 'partial' | 'none';
        readonly rules: readonly string[];
        readonly warnings: readonly {
          readonly code:
            | 'unknown_domain'
            | 'unknown_key'
            | 'no_rule'
            | 'nothing_to_replace'
            | 'needs_name'
            | 'unknown_limit'
            | 'unknown_place'
            | 'impossible_values'
            | 'shared_window'
            | 'hidden_by_block'
            | 'hidden_by_pass'
            | 'hidden_by_override'
            | 'has_limits_of_its_own'
            | 'no_tenants'
            | 'unknown_plan'
            | 'no_change'
            | 'shadow_mode'
            | 'no_such_record'
            | 'bucket_full';
          readonly effect: 'none' | 'partial';
          readonly message: string;
        }[];
      }[];
      readonly next?: string;
    };
  };
  readonly explainRequest: {
    readonly body: {
      readonly domain: string;
      readonly descriptors: readonly {
        readonly entries: readonly {
          readonly key: string;
          readonly value: string;
        }[];
      }[];
    };
    readonly reply: {
      readonly generation: number;
      readonly over_limit: boolean;
      readonly control: readonly {
        readonly descriptor: number;
        readonly kind: 'tenant' | 'plan' | 'override' | 'block' | 'pass';
        readonly id: string;
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
        readonly version?: number;
      }[];
      readonly without_effect: readonly {
        readonly kind: 'tenant' | 'plan' | 'override' | 'block' | 'pass';
        readonly id: string;
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
        readonly version?: number;
        readonly effect: 'in_force' | 'partial' | 'none';
        readonly warnings: readonly {
          readonly code:
            | 'unknown_domain'
            | 'unknown_key'
            | 'no_rule'
            | 'nothing_to_replace'
            | 'needs_name'
            | 'unknown_limit'
            | 'unknown_place'
            | 'impossible_values'
            | 'shared_window'
            | 'hidden_by_block'
            | 'hidden_by_pass'
            | 'hidden_by_override'
            | 'has_limits_of_its_own'
            | 'no_tenants'
            | 'unknown_plan'
            | 'no_change'
            | 'shadow_mode'
            | 'no_such_record'
            | 'bucket_full';
          readonly effect: 'none' | 'partial';
          readonly message: string;
        }[];
      }[];
      readonly explanation: {
        readonly domain: string;
        readonly domain_found: boolean;
        readonly descriptors: readonly {
          readonly entries: readonly {
            readonly key: string;
            readonly value: string;
          }[];
          readonly rule?: string;
          readonly mode: string;
          readonly unlimited: boolean;
          readonly override: boolean;
          readonly limits: readonly {
            readonly name: string;
            readonly requests_per_unit: number;
            readonly unit: string;
            readonly unit_multiplier: number;
            readonly capacity: number;
            readonly algorithm: string;
            readonly bucket_key: string;
            readonly source: {
              readonly from: 'rule' | 'plan' | 'plan_values' | 'override' | 'request';
              readonly record?: {
                readonly kind: 'tenant' | 'plan' | 'override' | 'block' | 'pass';
                readonly id: string;
                readonly until?: string;
                readonly reason?: string;
                readonly author?: string;
                readonly created_at?: string;
                readonly version?: number;
              };
              readonly file?: string;
              readonly line?: number;
              readonly replaces?: {
                readonly name: string;
                readonly requests_per_unit: number;
                readonly unit: string;
                readonly unit_multiplier: number;
                readonly capacity: number;
              };
            };
            readonly bucket?: {
              readonly key: string;
              readonly descriptor: number;
              readonly limit: {
                readonly requests_per_unit: number;
                readonly window_ms: number;
                readonly capacity: number;
                readonly algorithm: string;
              };
              readonly remaining: number;
              readonly debt: number;
              readonly retry_after_ms?: number;
              readonly reset_after_ms: number;
              readonly reset_at: string;
            };
            readonly candidate?: {
              readonly name: string;
              readonly requests_per_unit: number;
              readonly unit: string;
              readonly unit_multiplier: number;
              readonly capacity: number;
              readonly algorithm: string;
              readonly bucket_key: string;
              readonly source: {
                readonly from: 'rule' | 'plan' | 'plan_values' | 'override' | 'request';
                readonly record?: {
                  readonly kind: 'tenant' | 'plan' | 'override' | 'block' | 'pass';
                  readonly id: string;
                  readonly until?: string;
                  readonly reason?: string;
                  readonly author?: string;
                  readonly created_at?: string;
                  readonly version?: number;
                };
                readonly file?: string;
                readonly line?: number;
                readonly replaces?: {
                  readonly name: string;
                  readonly requests_per_unit: number;
                  readonly unit: string;
                  readonly unit_multiplier: number;
                  readonly capacity: number;
                };
              };
              readonly bucket?: {
                readonly key: string;
                readonly descriptor: number;
                readonly limit: {
                  readonly requests_per_unit: number;
                  readonly window_ms: number;
                  readonly capacity: number;
                  readonly algorithm: string;
                };
                readonly remaining: number;
                readonly debt: number;
                readonly retry_after_ms?: number;
                readonly reset_after_ms: number;
                readonly reset_at: string;
              };
            };
          }[];
          readonly plan?: string;
          readonly plan_source?: {
            readonly is_default: boolean;
            readonly unknown_plan?: string;
            readonly file?: string;
            readonly line?: number;
          };
          readonly block?: {
            readonly kind: 'tenant' | 'plan' | 'override' | 'block' | 'pass';
            readonly id: string;
            readonly until?: string;
            readonly reason?: string;
            readonly author?: string;
            readonly created_at?: string;
            readonly version?: number;
          };
          readonly pass?: {
            readonly kind: 'tenant' | 'plan' | 'override' | 'block' | 'pass';
            readonly id: string;
            readonly until?: string;
            readonly reason?: string;
            readonly author?: string;
            readonly created_at?: string;
            readonly version?: number;
          };
          readonly replaced: readonly string[];
          readonly not_limited?: string;
          readonly levels: readonly Readonly<Record<string, unknown>>[];
        }[];
      };
      readonly buckets: readonly {
        readonly key: string;
        readonly descriptor: number;
        readonly limit: {
          readonly requests_per_unit: number;
          readonly window_ms: number;
          readonly capacity: number;
          readonly algorithm: string;
        };
        readonly remaining: number;
        readonly debt: number;
        readonly retry_after_ms?: number;
        readonly reset_after_ms: number;
        readonly reset_at: string;
      }[];
    };
  };
  readonly getTenantLimits: {
    readonly params: {
      readonly domain: string;
      readonly tenant: string;
    };
    readonly query: {
      readonly entry?: string;
    };
    readonly reply: {
      readonly domain: string;
      readonly tenant: string;
      readonly generation: number;
      readonly record?: {
        readonly kind: 'tenant' | 'plan' | 'override' | 'block' | 'pass';
        readonly id: string;
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
        readonly version?: number;
        readonly plan: string;
      };
      readonly descriptors: readonly {
        readonly entries: readonly {
          readonly key: string;
          readonly value: string;
        }[];
        readonly rule?: string;
        readonly mode: string;
        readonly unlimited: boolean;
        readonly override: boolean;
        readonly limits: readonly {
          readonly name: string;
          readonly requests_per_unit: number;
          readonly unit: string;
          readonly unit_multiplier: number;
          readonly capacity: number;
          readonly algorithm: string;
          readonly bucket_key: string;
          readonly source: {
            readonly from: 'rule' | 'plan' | 'plan_values' | 'override' | 'request';
            readonly record?: {
              readonly kind: 'tenant' | 'plan' | 'override' | 'block' | 'pass';
              readonly id: string;
              readonly until?: string;
              readonly reason?: string;
              readonly author?: string;
              readonly created_at?: string;
              readonly version?: number;
            };
            readonly file?: string;
            readonly line?: number;
            readonly replaces?: {
              readonly name: string;
              readonly requests_per_unit: number;
              readonly unit: string;
              readonly unit_multiplier: number;
              readonly capacity: number;
            };
          };
          readonly bucket?: {
            readonly key: string;
            readonly descriptor: number;
            readonly limit: {
              readonly requests_per_unit: number;
              readonly window_ms: number;
              readonly capacity: number;
              readonly algorithm: string;
            };
            readonly remaining: number;
            readonly debt: number;
            readonly retry_after_ms?: number;
            readonly reset_after_ms: number;
            readonly reset_at: string;
          };
          readonly candidate?: {
            readonly name: string;
            readonly requests_per_unit: number;
            readonly unit: string;
            readonly unit_multiplier: number;
            readonly capacity: number;
            readonly algorithm: string;
            readonly bucket_key: string;
            readonly source: {
              readonly from: 'rule' | 'plan' | 'plan_values' | 'override' | 'request';
              readonly record?: {
                readonly kind: 'tenant' | 'plan' | 'override' | 'block' | 'pass';
                readonly id: string;
                readonly until?: string;
                readonly reason?: string;
                readonly author?: string;
                readonly created_at?: string;
                readonly version?: number;
              };
              readonly file?: string;
              readonly line?: number;
              readonly replaces?: {
                readonly name: string;
                readonly requests_per_unit: number;
                readonly unit: string;
                readonly unit_multiplier: number;
                readonly capacity: number;
              };
            };
            readonly bucket?: {
              readonly key: string;
              readonly descriptor: number;
              readonly limit: {
                readonly requests_per_unit: number;
                readonly window_ms: number;
                readonly capacity: number;
                readonly algorithm: string;
              };
              readonly remaining: number;
              readonly debt: number;
              readonly retry_after_ms?: number;
              readonly reset_after_ms: number;
              readonly reset_at: string;
            };
          };
        }[];
        readonly plan?: string;
        readonly plan_source?: {
          readonly is_default: boolean;
          readonly unknown_plan?: string;
          readonly file?: string;
          readonly line?: number;
        };
        readonly block?: {
          readonly kind: 'tenant' | 'plan' | 'override' | 'block' | 'pass';
          readonly id: string;
          readonly until?: string;
          readonly reason?: string;
          readonly author?: string;
          readonly created_at?: string;
          readonly version?: number;
        };
        readonly pass?: {
          readonly kind: 'tenant' | 'plan' | 'override' | 'block' | 'pass';
          readonly id: string;
          readonly until?: string;
          readonly reason?: string;
          readonly author?: string;
          readonly created_at?: string;
          readonly version?: number;
        };
        readonly replaced: readonly string[];
        readonly not_limited?: string;
        readonly needs?: readonly string[];
        readonly file: string;
        readonly line: number;
      }[];
      readonly without_effect: readonly {
        readonly kind: 'tenant' | 'plan' | 'override' | 'block' | 'pass';
        readonly id: string;
        readonly until?: string;
        readonly reason?: string;
        readonly author?: string;
        readonly created_at?: string;
        readonly version?: number;
        readonly effect: 'in_force' | 'partial' | 'none';
        readonly warnings: readonly {
          readonly code:
            | 'unknown_domain'
            | 'unknown_key'
            | 'no_rule'
            | 'nothing_to_replace'
            | 'needs_name'
            | 'unknown_limit'
            | 'unknown_place'
            | 'impossible_values'
            | 'shared_window'
            | 'hidden_by_block'
            | 'hidden_by_pass'
            | 'hidden_by_override'
            | 'has_limits_of_its_own'
            | 'no_tenants'
            | 'unknown_plan'
            | 'no_change'
            | 'shadow_mode'
            | 'no_such_record'
            | 'bucket_full';
          readonly effect: 'none' | 'partial';
          readonly message: string;
        }[];
      }[];
      readonly omitted: number;
    };
  };
  readonly lookupBuckets: {
    readonly body: {
      readonly domain: string;
      readonly descriptors: readonly {
        readonly entries: readonly {
          readonly key: string;
          readonly value: string;
        }[];
      }[];
    };
    readonly reply: {
      readonly buckets: readonly {
        readonly key: string;
        readonly descriptor: number;
        readonly limit: {
          readonly requests_per_unit: number;
          readonly window_ms: number;
          readonly capacity: number;
          readonly algorithm: string;
        };
        readonly remaining: number;
        readonly debt: number;
        readonly retry_after_ms?: number;
        readonly reset_after_ms: number;
        readonly reset_at: string;
      }[];
    };
  };
  readonly listBuckets: {
    readonly query: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly domain: string;
      readonly prefix?: string;
    };
    readonly reply: {
      readonly items: readonly {
        readonly key: string;
      }[];
      readonly next?: string;
    };
  };
  readonly resetBuckets: {
    readonly query: {
      readonly dry_run?: boolean;
    };
    readonly body: {
      readonly domain: string;
      readonly entries: readonly {
        readonly key: string;
        readonly value: string;
      }[];
      readonly limit?: string;
      readonly reason?: string;
    };
    readonly reply: {
      readonly dry_run: boolean;
      readonly deleted: number;
      readonly before: readonly {
        readonly key: string;
        readonly descriptor: number;
        readonly limit: {
          readonly requests_per_unit: number;
          readonly window_ms: number;
          readonly capacity: number;
          readonly algorithm: string;
        };
        readonly remaining: number;
        readonly debt: number;
        readonly retry_after_ms?: number;
        readonly reset_after_ms: number;
        readonly reset_at: string;
      }[];
    };
  };
  readonly giveCredit: {
    readonly query: {
      readonly dry_run?: boolean;
      readonly strict?: boolean;
    };
    readonly body: {
      readonly domain: string;
      readonly entries: readonly {
        readonly key: string;
        readonly value: string;
      }[];
      readonly limit?: string;
      readonly reason?: string;
      readonly hits: number;
      readonly id?: string;
    };
    readonly reply: {
      readonly dry_run: boolean;
      readonly repeated: boolean;
      readonly given: readonly {
        readonly key: string;
        readonly hits: number;
        readonly remaining: number;
      }[];
      readonly warnings: readonly {
        readonly code:
          | 'unknown_domain'
          | 'unknown_key'
          | 'no_rule'
          | 'nothing_to_replace'
          | 'needs_name'
          | 'unknown_limit'
          | 'unknown_place'
          | 'impossible_values'
          | 'shared_window'
          | 'hidden_by_block'
          | 'hidden_by_pass'
          | 'hidden_by_override'
          | 'has_limits_of_its_own'
          | 'no_tenants'
          | 'unknown_plan'
          | 'no_change'
          | 'shadow_mode'
          | 'no_such_record'
          | 'bucket_full';
        readonly effect: 'none' | 'partial';
        readonly message: string;
      }[];
    };
  };
  readonly whoami: {
    readonly reply: {
      readonly name: string;
      readonly role: 'viewer' | 'support' | 'admin';
    };
  };
  readonly listTopKeys: {
    readonly query: {
      readonly question: 'asked' | 'denied' | 'near' | 'candidate_denied';
      readonly minutes?: 1 | 10 | 60;
      readonly count?: number;
      readonly domain?: string;
      readonly rule?: string;
    };
    readonly reply: {
      readonly items: readonly {
        readonly domain: string;
        readonly rule: string;
        readonly entries: string;
        readonly count: number;
        readonly error: number;
        readonly used_share?: number;
        readonly remaining_share?: number;
        readonly limit?: {
          readonly name: string;
          readonly requests_per_unit: number;
          readonly unit: string;
          readonly unit_multiplier: number;
        };
      }[];
      readonly unlisted_max: number;
      readonly total_hits: number;
      readonly covered_ms: number;
      readonly instances: number;
      readonly missing: number;
    };
  };
  readonly listInstances: {
    readonly reply: {
      readonly items: readonly {
        readonly id: string;
        readonly host: string;
        readonly pid: number;
        readonly version: string;
        readonly started_at: string;
        readonly reported_at: string;
        readonly generation: number;
        readonly domains: number;
        readonly config_refused: boolean;
        readonly degraded: readonly string[];
        readonly load?: {
          readonly event_loop_utilization: number;
          readonly decisions_per_s: number;
        };
        readonly store_error?: {
          readonly store: string;
          readonly reason: string;
          readonly at: string;
        };
        readonly control?: {
          readonly state: 'starting' | 'following' | 'behind' | 'lost';
          readonly lag_seconds: number;
          readonly version: number;
          readonly lost_records: number;
          readonly entries_behind?: number;
        };
      }[];
      readonly degraded: readonly {
        readonly reason: string;
        readonly instances: number;
      }[];
    };
  };
  readonly listRules: {
    readonly query: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly domain?: string;
    };
    readonly reply: {
      readonly generation: number;
      readonly warnings: readonly string[];
      readonly refused: readonly string[];
      readonly items: readonly {
        readonly domain: string;
        readonly rule: string;
        readonly depth: number;
        readonly unlimited: boolean;
        readonly shadow_mode: boolean;
        readonly quota_mode: boolean;
        readonly tenants: boolean;
        readonly file?: string;
        readonly line?: number;
        readonly limits: readonly {
          readonly name: string;
          readonly requests_per_unit: number;
          readonly unit: string;
          readonly unit_multiplier: number;
          readonly algorithm: string;
          readonly capacity: number;
        }[];
      }[];
      readonly next?: string;
    };
  };
  readonly listSettings: {
    readonly reply: {
      readonly settings: readonly {
        readonly name: string;
        readonly group:
          'Listening' | 'Configuration' | 'Decisions' | 'Answers' | 'Store' | 'Logs and metrics' | 'Traces' | 'Admin API' | 'Life cycle';
        readonly value: string | null;
        readonly source: 'environment' | 'default';
      }[];
    };
  };
  readonly getLive: {
    readonly query: {
      readonly rules?: number;
      readonly minutes?: 10 | 60;
    };
    readonly reply: {
      readonly at: string;
      readonly window_s: number;
      readonly decisions_per_s: number;
      readonly errors_per_s: number;
      readonly fallback_per_s: number;
      readonly cached_denials_per_s: number;
      readonly unmatched_per_s: number;
      readonly asked_per_s: number;
      readonly denied_per_s: number;
      readonly decision_p50_ms?: number;
      readonly decision_p99_ms?: number;
      readonly stores: readonly {
        readonly store: string;
        readonly p50_ms?: number;
        readonly p99_ms?: number;
        readonly errors_per_s: number;
      }[];
      readonly history: readonly {
        readonly at: string;
        readonly asked_per_s: number;
        readonly denied_per_s: number;
        readonly decision_p50_ms?: number;
        readonly decision_p99_ms?: number;
        readonly store_p99_ms?: number;
      }[];
      readonly rules: readonly {
        readonly domain: string;
        readonly rule: string;
        readonly asked_per_s: number;
        readonly denied_per_s: number;
        readonly asked: number;
        readonly denied: number;
        readonly near: number;
        readonly would_deny: number;
      }[];
      readonly rules_omitted: number;
    };
  };
  readonly listKeyHistory: {
    readonly query: {
      readonly question?: 'denied' | 'asked';
      readonly count?: number;
      readonly domain?: string;
      readonly rule?: string;
      readonly entries?: string;
    };
    readonly reply: {
      readonly at: readonly string[];
      readonly items: readonly {
        readonly domain: string;
        readonly rule: string;
        readonly entries: string;
        readonly hits: readonly number[];
      }[];
      readonly others: readonly number[];
    };
  };
  readonly listRuleHistory: {
    readonly query: {
      readonly count?: number;
    };
    readonly reply: {
      readonly at: readonly string[];
      readonly items: readonly {
        readonly domain: string;
        readonly rule: string;
        readonly denied: readonly number[];
        readonly asked: readonly number[];
      }[];
    };
  };
  readonly listInstanceHistory: {
    readonly reply: {
      readonly at: readonly string[];
      readonly items: readonly {
        readonly id: string;
        readonly decisions_per_s: readonly number[];
        readonly event_loop_utilization: readonly number[];
      }[];
    };
  };
  readonly showDayOfKey: {
    readonly query: {
      readonly domain: string;
      readonly entries: string;
    };
    readonly reply: {
      readonly source: 'none' | 'prometheus';
      readonly items: readonly {
        readonly at: string;
        readonly asked: number;
        readonly denied: number;
      }[];
    };
  };
  readonly listAudit: {
    readonly query: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly order?: 'newest' | 'oldest';
      readonly trail?: 'penalties';
      readonly author?: string;
      readonly kind?: 'tenant' | 'plan' | 'override' | 'block' | 'pass';
      readonly domain?: string;
      readonly tenant?: string;
      readonly descriptor?: string;
      readonly since?: string;
    };
    readonly reply: {
      readonly items: readonly {
        readonly id: string;
        readonly at: string;
        readonly author: string;
        readonly action: string;
        readonly reason?: string;
        readonly details?: unknown;
        readonly kind?: 'tenant' | 'plan' | 'override' | 'block' | 'pass';
        readonly domain?: string;
        readonly name?: string;
        readonly before?: Readonly<Record<string, unknown>>;
        readonly after?: Readonly<Record<string, unknown>>;
      }[];
      readonly next?: string;
    };
  };
  readonly exportAudit: {
    readonly query: {
      readonly after?: string;
    };
    readonly reply: {
      readonly id: string;
      readonly at: string;
      readonly author: string;
      readonly action: string;
      readonly reason?: string;
      readonly details?: unknown;
      readonly kind?: 'tenant' | 'plan' | 'override' | 'block' | 'pass';
      readonly domain?: string;
      readonly name?: string;
      readonly before?: Readonly<Record<string, unknown>>;
      readonly after?: Readonly<Record<string, unknown>>;
    };
  };
  readonly tailDecisions: {
    readonly query: {
      readonly domain?: string;
      readonly entry?: string;
      readonly denied?: boolean;
      readonly per_second?: number;
    };
    readonly reply: {
      readonly at: string;
      readonly pid: number;
      readonly domain: string;
      readonly over_limit: boolean;
      readonly blocked?: boolean;
      readonly without?: 'fallback' | 'cached';
      readonly skipped: number;
      readonly descriptors: readonly {
        readonly entries: readonly {
          readonly key: string;
          readonly value: string;
        }[];
        readonly hits: number;
        readonly rule?: string;
        readonly block?: string;
        readonly over_limit: boolean;
        readonly limit?: {
          readonly name: string;
          readonly requests_per_unit: number;
          readonly unit: string;
          readonly unit_multiplier: number;
        };
        readonly remaining?: number;
        readonly candidates?: readonly {
          readonly name: string;
          readonly requests_per_unit: number;
          readonly unit: string;
          readonly unit_multiplier: number;
          readonly over_limit: boolean;
        }[];
      }[];
    };
  };
  readonly openSession: {
    readonly reply: {
      readonly name: string;
      readonly role: 'viewer' | 'support' | 'admin';
      readonly needs_sign_in: boolean;
      readonly csrf?: string;
      readonly ends_in_s?: number;
    };
  };
  readonly getSession: {
    readonly reply: {
      readonly name: string;
      readonly role: 'viewer' | 'support' | 'admin';
      readonly needs_sign_in: boolean;
      readonly csrf?: string;
      readonly ends_in_s?: number;
    };
  };
  readonly endSession: {
    readonly reply: {
      readonly ended: boolean;
    };
  };
}

export const OPERATIONS = {
  restoreControl: { method: 'POST', path: '/v1/control/restore' },
  discardLostControl: { method: 'POST', path: '/v1/control/discard-lost' },
  listTenants: { method: 'GET', path: '/v1/tenants' },
  getTenant: { method: 'GET', path: '/v1/tenants/{domain}/{tenant}' },
  putTenant: { method: 'PUT', path: '/v1/tenants/{domain}/{tenant}' },
  deleteTenant: { method: 'DELETE', path: '/v1/tenants/{domain}/{tenant}' },
  importTenants: { method: 'POST', path: '/v1/tenants/{domain}' },
  listPlans: { method: 'GET', path: '/v1/plans' },
  getPlan: { method: 'GET', path: '/v1/plans/{domain}/{plan}' },
  putPlan: { method: 'PUT', path: '/v1/plans/{domain}/{plan}' },
  deletePlan: { method: 'DELETE', path: '/v1/plans/{domain}/{plan}' },
  listOverrides: { method: 'GET', path: '/v1/overrides' },
  getOverride: { method: 'GET', path: '/v1/overrides/{domain}/{id}' },
  putOverride: { method: 'PUT', path: '/v1/overrides/{domain}/{id}' },
  deleteOverride: { method: 'DELETE', path: '/v1/overrides/{domain}/{id}' },
  promoteOverride: { method: 'POST', path: '/v1/overrides/{domain}/{id}/promote' },
  listBlocks: { method: 'GET', path: '/v1/blocks' },
  getBlock: { method: 'GET', path: '/v1/blocks/{domain}/{id}' },
  putBlock: { method: 'PUT', path: '/v1/blocks/{domain}/{id}' },
  deleteBlock: { method: 'DELETE', path: '/v1/blocks/{domain}/{id}' },
  listPasses: { method: 'GET', path: '/v1/passes' },
  getPass: { method: 'GET', path: '/v1/passes/{domain}/{id}' },
  putPass: { method: 'PUT', path: '/v1/passes/{domain}/{id}' },
  deletePass: { method: 'DELETE', path: '/v1/passes/{domain}/{id}' },
  listPlansInForce: { method: 'GET', path: '/v1/plans-in-force' },
  listExceptions: { method: 'GET', path: '/v1/exceptions' },
  explainRequest: { method: 'POST', path: '/v1/explain' },
  getTenantLimits: { method: 'GET', path: '/v1/tenants/{domain}/{tenant}/limits' },
  lookupBuckets: { method: 'POST', path: '/v1/buckets/lookup' },
  listBuckets: { method: 'GET', path: '/v1/buckets' },
  resetBuckets: { method: 'POST', path: '/v1/buckets/reset' },
  giveCredit: { method: 'POST', path: '/v1/credits' },
  whoami: { method: 'GET', path: '/v1/whoami' },
  listTopKeys: { method: 'GET', path: '/v1/top' },
  listInstances: { method: 'GET', path: '/v1/instances' },
  listRules: { method: 'GET', path: '/v1/rules' },
  listSettings: { method: 'GET', path: '/v1/settings' },
  getLive: { method: 'GET', path: '/v1/live' },
  listKeyHistory: { method: 'GET', path: '/v1/history/keys' },
  listRuleHistory: { method: 'GET', path: '/v1/history/rules' },
  listInstanceHistory: { method: 'GET', path: '/v1/history/instances' },
  showDayOfKey: { method: 'GET', path: '/v1/history/day' },
  listAudit: { method: 'GET', path: '/v1/audit' },
  exportAudit: { method: 'GET', path: '/v1/audit/export' },
  tailDecisions: { method: 'GET', path: '/v1/tail' },
  openSession: { method: 'POST', path: '/v1/session' },
  getSession: { method: 'GET', path: '/v1/session' },
  endSession: { method: 'DELETE', path: '/v1/session' },
} as const satisfies Readonly<Record<keyof Operations, { readonly method: string; readonly path: string }>>;
