#include "cache/place.h"
#include "cache/patience.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/*
 * Magic numbers of statfs(2) and linux/magic.h. A list of what is refused, not of what is allowed:
 * a local file system that nobody has heard of yet works more often than not, and checksums guard
 * the rest.
 */
static const struct {
    uint32_t magic;
    const char *name;
} remote[] = {
    {0x00006969, "NFS"},    {0x0000517b, "SMB"},        {0xff534d42, "CIFS"},
    {0xfe534d42, "SMB"},    {0x65735546, "FUSE"},       {0x01021997, "9p"},
    {0x5346414f, "AFS"},    {0x6b414653, "AFS"},        {0x73757245, "Coda"},
    {0x0000564c, "NCP"},    {0x00c36400, "Ceph"},       {0x0bd00bd0, "Lustre"},
    {0x01161970, "GFS2"},   {0x7461636f, "OCFS2"},      {0x47504653, "GPFS"},
    {0x19830326, "BeeGFS"}, {0x786f4256, "VirtualBox"}, {0xbacbacbc, "VMware"},
    {0x53464846, "WSL"},    {0x7c7c6673, "Parallels"},  {0x20030528, "OrangeFS"},
};

/* The main file last to be made out, see place_put_aside(). */
static const char *const parts[] = {"-journal", "-wal", "-shm", ""};
#define PARTS (sizeof parts / sizeof *parts)

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return strdup(".");
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

static int make_folders(const char *folder)
{
    struct stat st;

    if (stat(folder, &st) == 0)
        return S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
    if (mkdir(folder, 0700) == 0 || errno == EEXIST)
        return 0;
    if (errno != ENOENT)
        return errno;

    char *parent = folder_of(folder);
    int error = parent ? make_folders(parent) : ENOMEM;

    free(parent);
    if (!error && mkdir(folder, 0700) != 0 && errno != EEXIST)
        error = errno;
    return error;
}

static int say(int error, char *why, size_t n, const char *what, const char *path)
{
    snprintf(why, n, "%s %s: %s", what, path, strerror(error));
    return error;
}

static int check_file(const char *path, char *why, size_t n)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return errno == ENOENT ? 0 : say(errno, why, n, "cannot look at", path);
    if (!S_ISREG(st.st_mode)) {
        snprintf(why, n, "%s is no regular file", path);
        return EINVAL;
    }
    if (st.st_uid != geteuid()) {
        snprintf(why, n, "%s belongs to another user", path);
        return EPERM;
    }
    if ((st.st_mode & 077) && chmod(path, 0600) != 0)
        return say(errno, why, n, "cannot make private", path);
    return 0;
}

static int check_file_system(const char *folder, char *why, size_t n)
{
    struct statfs fs;

    if (statfs(folder, &fs) != 0)
        return say(errno, why, n, "cannot look at the file system of", folder);
    for (size_t i = 0; i < sizeof remote / sizeof *remote; i++)
        if ((uint32_t)fs.f_type == remote[i].magic) {
            snprintf(why, n, "%s is on a %s file system, where locks cannot be trusted", folder,
                     remote[i].name);
            return ENOTSUP;
        }
    return 0;
}

static char *resolve(const char *path, const char *folder)
{
    char *real = realpath(path, NULL);

    if (real || errno != ENOENT)
        return real;

    char *real_folder = realpath(folder, NULL);
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    if (real_folder &&
        asprintf(&real, "%s/%s", strcmp(real_folder, "/") ? real_folder : "", name) < 0)
        real = NULL;
    free(real_folder);
    return real;
}

char *place_find(const char *path, char *why, size_t n)
{
    char *folder = folder_of(path), *real = NULL, *real_folder = NULL;
    int error = folder ? make_folders(folder) : ENOMEM;

    if (error) {
        say(error, why, n, "cannot make the folder of", path);
        goto out;
    }
    real = resolve(path, folder);
    real_folder = real ? folder_of(real) : NULL;
    if (!real_folder) {
        error = say(errno, why, n, "cannot find", path);
        goto out;
    }
    error = check_file_system(real_folder, why, n);
    if (!error)
        error = check_file(real, why, n);
out:
    if (error) {
        free(real);
        real = NULL;
    }
    free(real_folder);
    free(folder);
    return real;
}

int place_make(const char *path, char *why, size_t n)
{
    char *folder = folder_of(path);
    int error = folder ? make_folders(folder) : ENOMEM;

    free(folder);
    if (error)
        return say(error, why, n, "cannot make the folder of", path);
    /*
     * Only a file that is new is opened here: closing a descriptor drops all of this process's
     * POSIX locks on that file, those of another connection's sqlite too. sqlite gives its other
     * files the mode of this one.
     */
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd >= 0)
        close(fd);
    else if (errno != EEXIST)
        return say(errno, why, n, "cannot make", path);
    return check_file(path, why, n);
}

int place_lock(const char *path, int64_t deadline)
{
    char *folder = folder_of(path);
    int fd = -1, error = 0;

    if (!folder)
        return -ENOMEM;
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    error = fd < 0 ? errno : 0;
    free(folder);
    if (fd < 0)
        return -error;
    for (int count = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; count++) {
        error = errno;
        if ((error != EWOULDBLOCK && error != EINTR) || !patience_wait(deadline, count)) {
            close(fd);
            return -error;
        }
    }
    return fd;
}

static bool part_name(char out[PATH_MAX], const char *path, const char *aside, const char *part)
{
    return snprintf(out, PATH_MAX, "%s%s%s", path, aside, part) < PATH_MAX;
}

bool place_put_aside(const char *path)
{
    char from[PATH_MAX], to[PATH_MAX];
    bool moved = false;

    place_forget_aside(path);
    /* The file itself last: without it, a killed process would leave a log that no longer says
     * whose it is. */
    for (size_t i = 0; i < PARTS; i++)
        moved = part_name(from, path, "", parts[i]) && part_name(to, path, ".bad", parts[i]) &&
                rename(from, to) == 0;
    return moved;
}

void place_forget_aside(const char *path)
{
    char name[PATH_MAX];

    for (size_t i = 0; i < PARTS; i++)
        if (part_name(name, path, ".bad", parts[i]))
            unlink(name);
}
