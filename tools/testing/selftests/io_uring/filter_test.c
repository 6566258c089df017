// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: filters, programs of classic BPF that allow or deny requests */
/*
 * Each test runs in a process of its own, which gets no_new_privs, and filters for good.  READ of
 * descriptor -1 ends with -EBADF if it is allowed, and with -EACCES if it is denied.
 */
#include "iou_test.h"
#include "fault.h"
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <linux/filter.h>
#include <linux/io_uring/bpf_filter.h>
#include <linux/openat2.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#define SOME_USER	4242

#define FIELD(name)	offsetof(struct io_uring_bpf_ctx, name)
#define LOAD(at)	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at)
#define RETURN(value)	BPF_STMT(BPF_RET | BPF_K, value)
#define IF_EQUAL(value, yes, no)	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define IF_BIT(value, yes, no)		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, value, yes, no)

/* the lower and upper half of a field of 64 bits */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LOW(name)	FIELD(name)
#define HIGH(name)	(FIELD(name) + 4)
#else
#define LOW(name)	(FIELD(name) + 4)
#define HIGH(name)	FIELD(name)
#endif

static struct sock_filter allow[] = { RETURN(1) };
static struct sock_filter deny[] = { RETURN(0) };
/* the file may be opened for reading only */
static struct sock_filter read_only[] = {
	LOAD(LOW(open.flags)), IF_BIT(O_ACCMODE | O_CREAT | O_TRUNC, 0, 1), RETURN(0), RETURN(1),
};

static int add(int fd, unsigned int opcode, unsigned int flags, const struct sock_filter *insns,
	       unsigned int nr)
{
	struct io_uring_bpf reg = {
		.cmd_type = IO_URING_BPF_CMD_FILTER,
		.filter = {
			.opcode = opcode, .flags = flags,
			.filter_ptr = (uintptr_t)insns, .filter_len = nr,
		},
	};

	return iou_sys_register(fd, IORING_REGISTER_BPF_FILTER, &reg, 1);
}

#define ADD(fd, op, flags, insns)	add(fd, IORING_OP_##op, flags, insns, ARRAY_LEN(insns))

static int read_nothing(struct iou *r)
{
	iou_prep(r, IORING_OP_READ, -1, NULL, 0, 0);
	return iou_one(r);
}

static int nop(struct iou *r)
{
	iou_nop(r, 1);
	return iou_one(r);
}

FIXTURE(filter) {
	struct iou r;
};

FIXTURE_VARIANT(filter) {
	unsigned int flags;
};

IOU_KINDS_OF_TASK(filter);
IOU_KIND(filter, sqe128, IORING_SETUP_SQE128);

FIXTURE_SETUP(filter)
{
	self->r.fd = -1;
	/* differences: none, 6.12 has no filters */
	if (iou_on_older_stock())
		SKIP(return, "no filters");
	ASSERT_EQ(0, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	ASSERT_EQ(0, iou_init(&self->r, 8, variant->flags | IORING_SETUP_SUBMIT_ALL));
}

FIXTURE_TEARDOWN(filter)
{
	iou_exit(&self->r);
}

/* All filters of an opcode have to allow a request.  Mutant: filter-newest-decides. */
TEST_F(filter, several)
{
	struct iou *r = &self->r;

	EXPECT_EQ(-EBADF, read_nothing(r));
	ASSERT_EQ(0, ADD(r->fd, READ, 0, allow));
	EXPECT_EQ(-EBADF, read_nothing(r));
	ASSERT_EQ(0, ADD(r->fd, READ, 0, deny));
	EXPECT_EQ(-EACCES, read_nothing(r));
	ASSERT_EQ(0, ADD(r->fd, READ, 0, allow));
	EXPECT_EQ(-EACCES, read_nothing(r));
	EXPECT_EQ(0, nop(r));
}

/* Mutants: deny-rest-is-opened, deny-rest-closes-filtered. */
TEST_F(filter, deny_rest)
{
	struct iou *r = &self->r;

	ASSERT_EQ(0, ADD(r->fd, WRITE, 0, allow));
	ASSERT_EQ(0, ADD(r->fd, NOP, IO_URING_BPF_FILTER_DENY_REST, allow));
	EXPECT_EQ(0, nop(r));
	EXPECT_EQ(-EACCES, read_nothing(r));
	iou_prep(r, IORING_OP_WRITE, -1, NULL, 0, 0);
	EXPECT_EQ(-EBADF, iou_one(r));
	ASSERT_EQ(0, ADD(r->fd, READ, 0, allow));
	EXPECT_EQ(-EACCES, read_nothing(r));
	ASSERT_EQ(0, ADD(r->fd, NOP, 0, deny));
	EXPECT_EQ(-EACCES, nop(r));
}

/* A denied request ends like one whose SQE is refused. */
TEST_F(filter, chains)
{
	static const unsigned int links[] = { IOSQE_IO_LINK, IOSQE_IO_HARDLINK };
	static const unsigned int ways[] = { 0, IOSQE_ASYNC, IOSQE_IO_DRAIN };
	struct __kernel_timespec ts = { .tv_sec = 60 };
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	unsigned int i, k;
	int id;

	ASSERT_EQ(0, ADD(r->fd, READ, 0, deny));
	ASSERT_EQ(0, ADD(r->fd, LINK_TIMEOUT, 0, deny));
	for (i = 0; i < ARRAY_LEN(ways); i++) {
		iou_prep(r, IORING_OP_READ, -1, NULL, 0, 0)->flags = ways[i];
		EXPECT_EQ(-EACCES, iou_one(r));
		for (k = 0; k < ARRAY_LEN(links); k++) {
			iou_nop(r, 1)->flags = links[k] | ways[i];
			iou_prep(r, IORING_OP_READ, -1, NULL, 0, 0)->flags = links[k] | ways[i];
			iou_nop(r, 3);
			ASSERT_EQ(3, iou_submit(r));
			ASSERT_EQ(0, iou_reap(r, &cqe));
			EXPECT_EQ(-ECANCELED, cqe.res);
			ASSERT_EQ(0, iou_reap(r, &cqe));
			EXPECT_EQ(-EACCES, cqe.res);
			ASSERT_EQ(0, iou_reap(r, &cqe));
			EXPECT_EQ(-ECANCELED, cqe.res);
		}
	}
	iou_prep(r, IORING_OP_READ, -1, NULL, 0, 0)->flags = IOSQE_CQE_SKIP_SUCCESS;
	EXPECT_EQ(-EACCES, iou_one(r));
	id = iou_register(r, IORING_REGISTER_PERSONALITY, NULL, 0);
	ASSERT_LT(0, id);
	iou_prep(r, IORING_OP_READ, -1, NULL, 0, 0)->personality = id;
	EXPECT_EQ(-EACCES, iou_one(r));
	/* a linked timeout belongs to the request before it */
	for (k = 0; k < ARRAY_LEN(links); k++) {
		iou_nop(r, 1)->flags = links[k];
		iou_prep(r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0);
		ASSERT_EQ(2, iou_submit(r));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(-ECANCELED, cqe.res);
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(-ECANCELED, cqe.res);
	}
	EXPECT_EQ(0, nop(r));
	EXPECT_EQ(0, iou_ready(r));
}

/* Return: true if a filter loads @value at @at for the SQE that @prep fills in. */
static bool sees(struct __test_metadata *_metadata, int op, unsigned int at, __u32 value,
		 void (*prep)(struct iou *r, struct io_uring_sqe *sqe))
{
	struct sock_filter insns[] = { LOAD(at), IF_EQUAL(value, 0, 1), RETURN(0), RETURN(1) };
	struct iou r;
	int ret;

	ASSERT_EQ(0, iou_init(&r, 4, 0));
	ASSERT_EQ(0, add(r.fd, op, 0, insns, ARRAY_LEN(insns)));
	prep(&r, iou_prep(&r, op, -1, NULL, 0, 0));
	ret = iou_one(&r);
	iou_exit(&r);
	/* a denied request did nothing */
	if (ret >= 0)
		close(ret);
	return ret == -EACCES;
}

static int some_socket;
static struct sockaddr_storage address;
static unsigned int address_len;
static struct open_how how;

static void prep_read(struct iou *r, struct io_uring_sqe *sqe)
{
	sqe->user_data = 0x1122334455667788ULL;
	sqe->flags = IOSQE_ASYNC;
	sqe->len = 3;
}

static void prep_socket(struct iou *r, struct io_uring_sqe *sqe)
{
	sqe->fd = AF_UNIX;
	sqe->off = SOCK_DGRAM | SOCK_CLOEXEC;
	sqe->len = 7;
}

static void prep_openat(struct iou *r, struct io_uring_sqe *sqe)
{
	sqe->fd = AT_FDCWD;
	sqe->addr = (uintptr_t)"/dev/null";
	sqe->open_flags = O_RDWR | O_CLOEXEC;
	sqe->len = 0644;
}

static void prep_openat2(struct iou *r, struct io_uring_sqe *sqe)
{
	sqe->fd = AT_FDCWD;
	sqe->addr = (uintptr_t)"/dev/null";
	sqe->addr2 = (uintptr_t)&how;
	sqe->len = sizeof(how);
}

static void prep_connect(struct iou *r, struct io_uring_sqe *sqe)
{
	sqe->fd = some_socket;
	sqe->addr = (uintptr_t)&address;
	sqe->addr2 = address_len;
}

/* Return: the word that begins with these bytes. */
static __u32 word(__u8 first, __u8 second, __u8 third)
{
	__u8 bytes[4] = { first, second, third, 0 };
	__u32 value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

#define SEES(op, at, value, prep)	\
	EXPECT_TRUE(sees(_metadata, IORING_OP_##op, at, value, prep))

/*
 * The fields that each operation shows.  Mutants: filter-old-fields, filter-connect-any-length,
 * filter-sees-type-flags, filter-open-inline.
 */
TEST(fields)
{
	struct sockaddr_in6 *in6 = (void *)&address;
	struct sockaddr_in *in = (void *)&address;
	unsigned int i;

	/* differences: none, 6.12 has no filters */
	if (iou_on_older_stock())
		SKIP(return, "no filters");
	ASSERT_EQ(0, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	SEES(READ, LOW(user_data), 0x55667788, prep_read);
	SEES(READ, HIGH(user_data), 0x11223344, prep_read);
	SEES(READ, FIELD(opcode), word(IORING_OP_READ, IOSQE_ASYNC, 0), prep_read);
	for (i = FIELD(opcode) + 4; i < sizeof(struct io_uring_bpf_ctx); i += 4)
		SEES(READ, i, 0, prep_read);

	SEES(SOCKET, FIELD(socket.family), AF_UNIX, prep_socket);
	/* without SOCK_CLOEXEC and SOCK_NONBLOCK */
	SEES(SOCKET, FIELD(socket.type), SOCK_DGRAM, prep_socket);
	SEES(SOCKET, FIELD(socket.protocol), 7, prep_socket);
	SEES(SOCKET, FIELD(socket.protocol) + 4, 0, prep_socket);
	SEES(SOCKET, FIELD(opcode), word(IORING_OP_SOCKET, 0, 12), prep_socket);

	SEES(OPENAT, HIGH(open.flags), 0, prep_openat);
	SEES(OPENAT, LOW(open.resolve), 0, prep_openat);
	how = (struct open_how){ .flags = O_RDONLY | O_CLOEXEC, .resolve = RESOLVE_NO_XDEV };
	SEES(OPENAT2, LOW(open.resolve), RESOLVE_NO_XDEV, prep_openat2);
	SEES(OPENAT2, LOW(open.mode), 0, prep_openat2);
	/* an open that may change the directory or the file always blocks */
	SEES(OPENAT2, FIELD(opcode), word(IORING_OP_OPENAT2, 0, 24), prep_openat2);
	how = (struct open_how){ .flags = O_WRONLY | O_TRUNC };
	SEES(OPENAT2, FIELD(opcode), word(IORING_OP_OPENAT2, IOSQE_ASYNC, 24), prep_openat2);
	how = (struct open_how){ .flags = O_WRONLY | O_CREAT, .mode = 0600 };
	SEES(OPENAT2, FIELD(opcode), word(IORING_OP_OPENAT2, IOSQE_ASYNC, 24), prep_openat2);

	some_socket = socket(AF_UNIX, SOCK_STREAM, 0);
	ASSERT_LE(0, some_socket);
	*in = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_port = htons(80), .sin_addr.s_addr = htonl(0x7f000001),
	};
	address_len = sizeof(*in);
	SEES(CONNECT, FIELD(connect.family), AF_INET, prep_connect);
	SEES(CONNECT, FIELD(connect.port), word(0, 80, 0), prep_connect);
	SEES(CONNECT, FIELD(connect.v4_addr), htonl(0x7f000001), prep_connect);
	SEES(CONNECT, FIELD(connect.v4_addr) + 4, 0, prep_connect);
	*in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons(80) };
	memset(&in6->sin6_addr, 0xab, sizeof(in6->sin6_addr));
	address_len = sizeof(*in6);
	SEES(CONNECT, FIELD(connect.family), AF_INET6, prep_connect);
	SEES(CONNECT, FIELD(connect.port), word(0, 80, 0), prep_connect);
	for (i = 0; i < 16; i += 4)
		SEES(CONNECT, FIELD(connect.v6_addr) + i, 0xabababab, prep_connect);
	/* a family without more fields, and an address that has not even the family */
	address.ss_family = AF_UNIX;
	SEES(CONNECT, FIELD(connect.family), AF_UNIX, prep_connect);
	SEES(CONNECT, FIELD(connect.port), 0, prep_connect);
	address_len = 1;
	SEES(CONNECT, FIELD(connect.family), 0, prep_connect);
	close(some_socket);
}

/* Mutant: filter-loads-beyond. */
TEST(bad_arguments)
{
	static struct sock_filter bad[][2] = {
		{ LOAD(2), RETURN(1) },
		{ LOAD(sizeof(struct io_uring_bpf_ctx)), RETURN(1) },
		{ LOAD(-4), RETURN(1) },
		/* the offset of data about packets */
		{ LOAD(SKF_AD_OFF), RETURN(1) },
		{ BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 8), RETURN(1) },
		{ BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 8), RETURN(1) },
		{ BPF_STMT(BPF_LD | BPF_W | BPF_IND, 8), RETURN(1) },
		{ BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 8), RETURN(1) },
		{ BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, 8), RETURN(1) },
		{ BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0), RETURN(1) },
		/* no end, a jump that leaves the program, memory that was never stored */
		{ LOAD(0), LOAD(4) },
		{ BPF_JUMP(BPF_JMP | BPF_JA, 5, 0, 0), RETURN(1) },
		{ BPF_STMT(BPF_LD | BPF_MEM, 3), RETURN(1) },
	};
	struct io_uring_bpf good = {
		.cmd_type = IO_URING_BPF_CMD_FILTER,
		.filter = {
			.opcode = IORING_OP_READ,
			.filter_ptr = (uintptr_t)deny, .filter_len = 1,
		},
	};
	struct sock_filter load_len[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
		IF_EQUAL(sizeof(struct io_uring_bpf_ctx), 0, 1), RETURN(0), RETURN(1),
	};
	struct io_uring_bpf reg;
	unsigned int i;
	struct iou r;

	if (!iou_kernel_from("7"))
		SKIP(return, "no filters of tasks");
	ASSERT_EQ(0, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	ASSERT_EQ(0, iou_init(&r, 4, 0));
#define REFUSED(error, field, value) do {						\
	reg = good;									\
	reg.field = (value);								\
	EXPECT_EQ(error, iou_register(&r, IORING_REGISTER_BPF_FILTER, &reg, 1)) {	\
		TH_LOG(#field);								\
	}										\
	EXPECT_EQ(error, iou_sys_register(-1, IORING_REGISTER_BPF_FILTER, &reg, 1));	\
} while (0)
	REFUSED(-EINVAL, cmd_type, 0);
	REFUSED(-EINVAL, cmd_type, 2);
	REFUSED(-EINVAL, cmd_flags, 1);
	REFUSED(-EINVAL, resv, 1);
	REFUSED(-EINVAL, filter.opcode, 65);
	REFUSED(-EINVAL, filter.opcode, -1);
	REFUSED(-EINVAL, filter.flags, 4);
	REFUSED(-EINVAL, filter.filter_len, 0);
	REFUSED(-EINVAL, filter.filter_len, BPF_MAXINSNS + 1);
	REFUSED(-EINVAL, filter.filter_len, 0x10001);
	for (i = 0; i < ARRAY_LEN(good.filter.resv); i++)
		REFUSED(-EINVAL, filter.resv[i], 1);
	for (i = 0; i < ARRAY_LEN(good.filter.resv2); i++)
		REFUSED(-EINVAL, filter.resv2[i], 1);
	REFUSED(-EFAULT, filter.filter_ptr, 8);
	EXPECT_EQ(-EINVAL, iou_register(&r, IORING_REGISTER_BPF_FILTER, &good, 0));
	EXPECT_EQ(-EINVAL, iou_register(&r, IORING_REGISTER_BPF_FILTER, &good, 2));
	EXPECT_EQ(-EFAULT, iou_register(&r, IORING_REGISTER_BPF_FILTER, (void *)8, 1));
	for (i = 0; i < ARRAY_LEN(bad); i++)
		EXPECT_EQ(-EINVAL, add(r.fd, IORING_OP_READ, 0, bad[i], 2)) {
			TH_LOG("program %u", i);
		}
	EXPECT_EQ(-EBADF, read_nothing(&r));
	ASSERT_EQ(0, ADD(r.fd, READ, 0, load_len));
	EXPECT_EQ(-EACCES, read_nothing(&r));
	iou_exit(&r);
}

/* The program and the kernel tell each other how many bytes of fields they know. */
TEST(sizes)
{
	static const struct {
		int op, size;
	} rows[] = {
		{ IORING_OP_SOCKET, 12 }, { IORING_OP_OPENAT, 24 }, { IORING_OP_OPENAT2, 24 },
		{ IORING_OP_CONNECT, 24 }, { IORING_OP_NOP, 0 }, { IORING_OP_URING_CMD, 0 },
	};
	unsigned int i, strict, ok;
	struct iou r;
	int more;

	/* differences: none, 6.12 has no filters */
	if (iou_on_older_stock())
		SKIP(return, "no filters");
	ASSERT_EQ(0, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	ASSERT_EQ(0, iou_init(&r, 4, 0));
	for (i = 0; i < ARRAY_LEN(rows) * 6; i++) {
		struct io_uring_bpf reg = {
			.cmd_type = IO_URING_BPF_CMD_FILTER,
			.filter = {
				.opcode = rows[i / 6].op,
				.filter_ptr = (uintptr_t)allow, .filter_len = 1,
			},
		};

		more = (int)(i % 3) - 1;
		strict = i / 3 % 2;
		if (rows[i / 6].size + more < 0)
			continue;
		reg.filter.pdu_size = rows[i / 6].size + more;
		reg.filter.flags = strict ? IO_URING_BPF_FILTER_SZ_STRICT : 0;
		ok = strict ? !more : more <= 0;
		EXPECT_EQ(ok ? 0 : -EMSGSIZE,
			  iou_register(&r, IORING_REGISTER_BPF_FILTER, &reg, 1));
		EXPECT_EQ(rows[i / 6].size, reg.filter.pdu_size);
	}
	iou_exit(&r);
}

/* Mutant: filter-without-right. */
TEST(rights)
{
	struct iou r;

	if (!iou_kernel_from("7"))
		SKIP(return, "no filters of tasks");
	if (getuid())
		SKIP(return, "needs to be root");
	ASSERT_EQ(0, iou_init(&r, 4, 0));
	ASSERT_EQ(0, ADD(r.fd, NOP, 0, allow));
	ASSERT_EQ(0, ADD(-1, NOP, 0, allow));
	ASSERT_EQ(0, iou_ret(syscall(__NR_setresuid, SOME_USER, SOME_USER, SOME_USER)));
	/* a ring can be given filters by each task that can register with it */
	EXPECT_EQ(0, ADD(r.fd, NOP, 0, allow));
	EXPECT_EQ(-EACCES, ADD(-1, NOP, 0, allow));
	ASSERT_EQ(0, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	EXPECT_EQ(0, ADD(r.fd, NOP, 0, allow));
	EXPECT_EQ(0, ADD(-1, NOP, 0, allow));
	iou_exit(&r);
}

/* A disabled ring can be given filters, and a restricted one as well. */
TEST(of_a_disabled_ring)
{
	static const struct io_uring_restriction list[] = {
		{ .opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_READ },
		{ .opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_NOP },
	};
	unsigned int i;
	struct iou r;

	/* differences: none, 6.12 has no filters */
	if (iou_on_older_stock())
		SKIP(return, "no filters");
	ASSERT_EQ(0, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, iou_init(&r, 4, IORING_SETUP_R_DISABLED));
		if (i)
			ASSERT_EQ(0, ADD(r.fd, READ, 0, deny));
		ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_RESTRICTIONS, (void *)list, 2));
		if (!i)
			ASSERT_EQ(0, ADD(r.fd, READ, 0, deny));
		ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_ENABLE_RINGS, NULL, 0));
		EXPECT_EQ(-EACCES, read_nothing(&r));
		EXPECT_EQ(0, nop(&r));
		iou_prep(&r, IORING_OP_WRITE, -1, NULL, 0, 0);
		EXPECT_EQ(-EACCES, iou_one(&r));
		iou_exit(&r);
	}
}

/* Filters of a task are for later rings, which can get more.  Mutant: ring-shares-filters. */
TEST_F(filter, of_a_task)
{
	struct iou later, other;

	if (!iou_kernel_from("7"))
		SKIP(return, "no filters of tasks");
	ASSERT_EQ(0, ADD(-1, READ, 0, deny));
	EXPECT_EQ(-EBADF, read_nothing(&self->r));
	ASSERT_EQ(0, iou_init(&later, 8, variant->flags));
	EXPECT_EQ(-EACCES, read_nothing(&later));
	ASSERT_EQ(0, ADD(later.fd, READ, 0, allow));
	EXPECT_EQ(-EACCES, read_nothing(&later));
	ASSERT_EQ(0, ADD(later.fd, NOP, 0, deny));
	EXPECT_EQ(-EACCES, nop(&later));
	/* what one ring got does not apply to others */
	ASSERT_EQ(0, iou_init(&other, 8, variant->flags));
	EXPECT_EQ(0, nop(&other));
	EXPECT_EQ(-EACCES, read_nothing(&other));
	/* nor does what the task gets later, which is no list any more */
	EXPECT_EQ(-EPERM, iou_sys_register(-1, IORING_REGISTER_RESTRICTIONS, NULL, 0));
	ASSERT_EQ(0, ADD(-1, NOP, 0, deny));
	EXPECT_EQ(0, nop(&other));
	iou_exit(&later);
	ASSERT_EQ(0, iou_init(&later, 8, variant->flags));
	EXPECT_EQ(-EACCES, nop(&later));
	iou_exit(&later);
	iou_exit(&other);
}

/* Return: the result of an open for writing, or a positive number if none can read, either. */
static int open_for_write(struct iou *r, unsigned int sqe_flags)
{
	struct io_uring_sqe *sqe;
	int fd;

	iou_prep(r, IORING_OP_OPENAT, AT_FDCWD, "/dev/null", 0, 0)->flags = sqe_flags;
	fd = iou_one(r);
	if (fd < 0)
		return 200;
	close(fd);
	sqe = iou_prep(r, IORING_OP_OPENAT, -1, NULL, 0, 0);
	prep_openat(r, sqe);
	sqe->flags = sqe_flags;
	fd = iou_one(r);
	if (fd >= 0)
		close(fd);
	return fd;
}

/* Return: the result of an open for writing, on a new ring that can open for reading. */
static int escape(unsigned int ring_flags)
{
	struct iou r;
	int ret = iou_init(&r, 8, ring_flags);

	if (ret)
		return ret;
	ret = open_for_write(&r, 0);
	iou_exit(&r);
	return ret;
}

static void *escape_in_thread(void *flags)
{
	return (void *)(long)escape(*(unsigned int *)flags);
}

#define TRY_OPEN	"IOU_TRY_OPEN"

static __attribute__((constructor)) void escape_by_exec(void)
{
	if (getenv(TRY_OPEN))
		_exit(-escape(atoi(getenv(TRY_OPEN))));
}

/*
 * A program in a sandbox, which may open files for reading only, and only has NOP and OPENAT, tries
 * all ways to open one for writing.
 */
TEST_F(filter, sandbox)
{
	static const struct io_uring_restriction list[] = {
		{ .opcode = IORING_RESTRICTION_REGISTER_OP,
		  .register_op = IORING_REGISTER_PERSONALITY },
		{ .opcode = IORING_RESTRICTION_REGISTER_OP,
		  .register_op = IORING_REGISTER_BPF_FILTER },
	};
	struct io_uring_sqe message = { .opcode = IORING_OP_MSG_RING, .fd = self->r.fd };
	struct io_uring_clone_buffers clone = { .src_fd = self->r.fd };
	struct {
		struct io_uring_task_restriction head;
		struct io_uring_restriction all[2];
	} calls = { .head.nr_res = 2 };
	unsigned int flags = variant->flags;
	char env_flags[40];
	struct io_uring_params p = { .flags = IORING_SETUP_SQPOLL | IORING_SETUP_ATTACH_WQ };
	struct io_uring_sqe *sqe;
	struct iou r, thread;
	pthread_t other;
	int status, id;
	void *ret;

	if (!iou_kernel_from("7"))
		SKIP(return, "no filters of tasks");
	ASSERT_EQ(0, iou_init(&thread, 8, IORING_SETUP_SQPOLL));
	memcpy(calls.all, list, sizeof(list));
	/* in this order: a task with filters gets no restrictions any more */
	ASSERT_EQ(0, iou_sys_register(-1, IORING_REGISTER_RESTRICTIONS, &calls, 1));
	ASSERT_EQ(0, ADD(-1, NOP, 0, allow));
	ASSERT_EQ(0, ADD(-1, OPENAT, IO_URING_BPF_FILTER_DENY_REST, read_only));
	EXPECT_EQ(-EACCES, iou_sys_register(-1, IORING_REGISTER_RESTRICTIONS, &calls, 1));

	/* a new ring, a child, a thread, another program, the SQPOLL thread of another ring */
	EXPECT_EQ(-EACCES, escape(flags));
	if (!fork())
		_exit(-escape(flags));
	ASSERT_LT(0, wait(&status));
	EXPECT_EQ(EACCES, WEXITSTATUS(status));
	ASSERT_EQ(0, pthread_create(&other, NULL, escape_in_thread, &flags));
	pthread_join(other, &ret);
	EXPECT_EQ(-EACCES, (long)ret);
	snprintf(env_flags, sizeof(env_flags), "%u", flags);
	if (!fork()) {
		setenv(TRY_OPEN, env_flags, 1);
		execl("/proc/self/exe", "try", NULL);
		_exit(1);
	}
	ASSERT_LT(0, wait(&status));
	EXPECT_EQ(EACCES, WEXITSTATUS(status));
	p.wq_fd = thread.fd;
	ASSERT_EQ(0, iou_init_params(&r, 8, &p));
	EXPECT_EQ(-EACCES, open_for_write(&r, 0));
	iou_exit(&r);
	iou_exit(&thread);

	/* a worker, a drained request, other credentials, another operation */
	ASSERT_EQ(0, iou_init(&r, 8, flags | IORING_SETUP_SUBMIT_ALL));
	EXPECT_EQ(-EACCES, open_for_write(&r, IOSQE_ASYNC));
	EXPECT_EQ(-EACCES, open_for_write(&r, IOSQE_IO_DRAIN));
	id = iou_register(&r, IORING_REGISTER_PERSONALITY, NULL, 0);
	ASSERT_LT(0, id);
	sqe = iou_prep(&r, IORING_OP_OPENAT, AT_FDCWD, "/dev/null", 0, 0);
	sqe->open_flags = O_WRONLY;
	sqe->personality = id;
	EXPECT_EQ(-EACCES, iou_one(&r));
	how = (struct open_how){ .flags = O_WRONLY };
	iou_prep(&r, IORING_OP_OPENAT2, AT_FDCWD, "/dev/null", sizeof(how), (uintptr_t)&how);
	EXPECT_EQ(-EACCES, iou_one(&r));
	iou_prep(&r, IORING_OP_URING_CMD, self->r.fd, NULL, 0, 0);
	EXPECT_EQ(-EACCES, iou_one(&r));

	/* another ring, by a message or its buffers */
	iou_prep(&r, IORING_OP_MSG_RING, self->r.fd, NULL, 1, 2);
	EXPECT_EQ(-EACCES, iou_one(&r));
	EXPECT_EQ(-EACCES, iou_sys_register(-1, IORING_REGISTER_SEND_MSG_RING, &message, 1));
	EXPECT_EQ(0, iou_ready(&self->r));
	EXPECT_EQ(-EACCES, iou_register(&r, IORING_REGISTER_CLONE_BUFFERS, &clone, 1));

	/* another filter */
	EXPECT_EQ(0, ADD(r.fd, OPENAT, 0, allow));
	EXPECT_EQ(0, ADD(-1, OPENAT, IO_URING_BPF_FILTER_DENY_REST, allow));
	EXPECT_EQ(-EACCES, open_for_write(&r, 0));
	EXPECT_EQ(-EACCES, escape(flags));
	iou_exit(&r);
	/* the ring from before is outside of the sandbox */
	prep_openat(&self->r, iou_prep(&self->r, IORING_OP_OPENAT, -1, NULL, 0, 0));
	id = iou_one(&self->r);
	EXPECT_LE(0, id);
	close(id);
}

struct flip {
	struct io_uring_sqe *sqe;
	bool stop;
};

/* Change the flags of an open while it is submitted. */
static void *flip_flags(void *arg)
{
	struct flip *f = arg;

	while (!load_acq(&f->stop)) {
		__atomic_store_n(&f->sqe->open_flags, O_RDWR, __ATOMIC_RELAXED);
		__atomic_store_n(&how.flags, O_RDWR, __ATOMIC_RELAXED);
		__atomic_store_n(&f->sqe->open_flags, O_RDONLY, __ATOMIC_RELAXED);
		__atomic_store_n(&how.flags, O_RDONLY, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* The operation uses the value that the filter has seen. */
TEST_F(filter, changed_meanwhile)
{
	unsigned long long end = iou_race_end();
	unsigned long i, rounds = iou_rounds(20000), opened = 0, denied = 0;
	struct iou *r = &self->r;
	struct flip f = { };
	pthread_t thread;
	int fd;

	ASSERT_EQ(0, ADD(r->fd, OPENAT, 0, read_only));
	ASSERT_EQ(0, ADD(r->fd, OPENAT2, 0, read_only));
	how = (struct open_how){ };
	/* all SQEs of the test are in the same slot, with the index array */
	f.sqe = iou_sqe(r);
	for (i = 0; i < r->p.sq_entries; i++)
		r->sq_array[i] = 0;
	r->next--;
	ASSERT_EQ(0, pthread_create(&thread, NULL, flip_flags, &f));
	for (i = 0; iou_race_goes_on(i, rounds, end); i++) {
		f.sqe->opcode = i % 2 ? IORING_OP_OPENAT : IORING_OP_OPENAT2;
		f.sqe->fd = AT_FDCWD;
		f.sqe->addr = (uintptr_t)"/dev/null";
		f.sqe->len = i % 2 ? 0 : sizeof(how);
		f.sqe->off = i % 2 ? 0 : (uintptr_t)&how;
		f.sqe->flags = i % 3 ? 0 : IOSQE_ASYNC;
		r->next++;
		fd = iou_one(r);
		if (fd < 0) {
			ASSERT_EQ(-EACCES, fd);
			denied++;
			continue;
		}
		ASSERT_EQ(O_RDONLY, fcntl(fd, F_GETFL) & O_ACCMODE);
		close(fd);
		opened++;
	}
	store_rel(&f.stop, true);
	pthread_join(thread, NULL);
	EXPECT_LT(0, opened + denied);
}

/* The filters of an opcode have a limit, as for seccomp(2).  Mutant: filters-unbounded. */
TEST(bound)
{
	static struct sock_filter longest[BPF_MAXINSNS];
	unsigned int i, nr;
	struct iou r;
	int ret = 0;

	/* differences: none, 6.12 has no filters */
	if (iou_on_older_stock())
		SKIP(return, "no filters");
	ASSERT_EQ(0, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	for (i = 0; i < BPF_MAXINSNS - 1; i++)
		longest[i] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_IMM, 0);
	longest[i] = (struct sock_filter)RETURN(1);
	ASSERT_EQ(0, iou_init(&r, 4, 0));
	for (nr = 0; nr < 20 && !ret; nr++)
		ret = ADD(r.fd, NOP, 0, longest);
	/* differences: filter-limit */
	EXPECT_EQ(iou_on_stock() ? 0 : -ENOMEM, ret);
	EXPECT_EQ(0, nop(&r));
	iou_exit(&r);
}

TEST_HARNESS_MAIN
