"""Every bound on outside input, by name. Sizes are bytes and times seconds, unless the name differs."""

from __future__ import annotations

MIB = 1024 * 1024

# Reading a bundle
PAGE_BYTES = 64 * MIB
FRONTMATTER_BYTES = 2 * MIB
FRONTMATTER_DEPTH = 100
FRONTMATTER_ALIAS_NODES = 100_000
CONFIG_BYTES = 65_536
CONFIG_KEY_PARTS = 32

# Evidence and proposals
EVIDENCE_BYTES = 8 * MIB
EVAL_FILES = 1_000
SELECTOR_WORK_BYTES = 8192 * MIB  # what all selectors of one run may search through
CLAIM_INTEGER_DIGITS = 400  # as many as a number of the rule language has
PROPOSAL_BYTES = 4 * MIB
PATCH_OPERATIONS = 1_000
PATCH_WORK_BYTES = 16 * MIB  # frontmatter that is read anew, over all operations of a patch

# Writing
TRANSACTION_FILES = 10_000
JOURNAL_BYTES = 16 * MIB
LOCK_SECONDS = 10.0

# Gates
GIT_TREE_ENTRIES = 1_000_000  # files and folders of a bundle at one git revision
GIT_PATH_CHARACTERS = 4_096
BASELINE_BYTES = 8 * MIB
POLICY_FILES = 256

# Queries
QUERY_BYTES = 32_768
QUERY_FILE_BYTES = 4 * MIB
RESULT_FILE_BYTES = 64 * MIB
TEXT_QUERY_RUNES = 4_096
RULE_BYTES = 65_536
RESULTS = 1_000
QUERY_SECONDS = 2.0
QUERY_SECONDS_MAX = 30.0
CONCURRENT_EVALUATIONS = 4
CREATED_FACTS = 100_000
DERIVED_GRAPH_FACTS = 1_000_000
PROOF_DEPTH = 64
PROOF_STEPS = 250_000
RESULT_PROOF_WORK = 1_000_000  # steps of all proofs in an answer on claims, deep ones counted more
RULE_PREMISES = 1_000
ATOM_ARGUMENTS = 1_000
BASE_FACTS = 5_000_000
BASE_FACTS_SERVED = 250_000
DATASET_QUADS = 5_000_000
DATASET_QUADS_SERVED = 250_000
QUERY_MEMORY_BYTES = 1024 * MIB
QUERY_RESULT_BYTES = 256 * MIB
QUERY_LOAD_SECONDS = 60.0
QUERY_NESTING = 128

# Search
SEARCH_RESULTS = 50  # as a server gives them; a command may ask for RESULTS
SEARCH_TERMS = 64  # distinct words of one query that are scored
SEARCH_PHRASES = 16
SEARCH_NEAR_WORDS = 8
SEARCH_FUZZY_RUNES = 64
SEARCH_BUDGET = 32_000

# Embedding services
EMBEDDING_SECONDS = 30.0
EMBEDDING_REQUEST_BYTES = 8 * MIB
EMBEDDING_RESPONSE_BYTES = 32 * MIB
EMBEDDING_CACHE_BYTES = 256 * MIB
EMBEDDING_DIMENSIONS = 65_536

# Evaluation datasets
DATASET_BYTES = 4 * MIB
DATASET_CASES = 10_000

# Serving agents
MESSAGE_BYTES = 1 * MIB  # one line of the protocol
RESOURCE_BYTES = 4 * MIB
RESOURCE_PAGE = 100
REPLY_BYTES = 256 * 1024  # every reply but resources and the validation report
REPORT_REPLY_BYTES = 1 * MIB
REPLY_ISSUES = 20
FILTER_VALUES = 50
DATALOG_QUERY_BYTES = 4_096  # as a client of a server may ask; a command may ask QUERY_BYTES
CLAIM_ID_BYTES = 256
TERM_RUNES = 2_048
PROPOSED_EVIDENCE = 100
PROPOSAL_TEXT_RUNES = 4_096

# Changing knowledge
ACTOR_CHARACTERS = 256
REVIEWED_PROPOSALS = 50  # of one review
REVIEW_CONTEXT = 160  # characters shown on each side of a quotation
FETCH_SECONDS = 30.0  # for everything: names, connections, redirects, the body
FETCH_REDIRECTS = 5
URL_CHARACTERS = 4_096
